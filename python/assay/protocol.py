"""What the two clients share: requests as bytes, replies as answers. No socket and no clock in here."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Optional

import httpx
from pydantic import BaseModel, ValidationError

from .answers import Answer, Model, Reply, parse_answer, parse_models, parse_reply
from .errors import (
    AssayError,
    ConnectionFailed,
    DeadlineExceeded,
    InvalidReply,
    error_of,
    error_of_event,
    request_id_of,
)
from .questions import Questions, Settings, State, settings_to_wire
from .sse import Event, EventParser

DEFAULT_BASE_URL = "http://127.0.0.1:8080"
DEFAULT_MODEL = "jev-latest"  # the alias that every System One server knows
JSON, EVENTS = "application/json", "text/event-stream"
# What the network may add to a deadline before the client stops to wait for the server's own word about it.
GRACE_SECONDS = 2.0


def _plain(value: Any) -> Any:
    """What json cannot write itself: models, dataclasses, dates, numpy's and pandas' scalars and arrays."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    for method in ("isoformat", "tolist", "item"):
        if callable(getattr(value, method, None)):
            return getattr(value, method)()
    raise TypeError(f"a {type(value).__name__} is no JSON: {value!r}")


def to_json(value: Any) -> bytes:
    """Raises TypeError or ValueError for what has no JSON: NaN, lone surrogates, objects of unknown classes."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode()


def ask_body(model: str, state: State, questions: Questions, settings: Settings) -> bytes:
    if not isinstance(questions, Mapping):
        raise TypeError("questions must be a dict of id -> Choice, YesNo or Score")
    if not questions:
        raise ValueError("questions is empty; there must be at least one")
    asked = {name: question.to_wire() for name, question in questions.items()}
    return to_json({"model": model, "state": state, "questions": asked, **settings_to_wire(settings)})


@dataclass(frozen=True)
class Target:
    """Where requests go and what each carries."""

    base_url: str
    headers: dict[str, str]

    @staticmethod
    def of(base_url: Optional[str], api_key: Optional[str], headers: Optional[Mapping[str, str]]) -> Target:
        url = (base_url or os.environ.get("ASSAY_BASE_URL") or DEFAULT_BASE_URL).rstrip("/")
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"base_url must begin with http:// or https://, not {url!r}")
        key = api_key or os.environ.get("ASSAY_API_KEY")
        out = {"user-agent": "assay-python"}
        if key:
            out["authorization"] = "Bearer " + key
        out.update({name.lower(): value for name, value in (headers or {}).items()})
        return Target(url[:-3] if url.endswith("/v1") else url, out)

    def url(self, path: str) -> str:
        return self.base_url + path

    def ask_headers(self, accept: str, seconds_left: Optional[float]) -> dict[str, str]:
        out = {**self.headers, "content-type": JSON, "accept": accept}
        if seconds_left is not None:
            out["x-timeout-ms"] = f"{max(1.0, seconds_left * 1e3):.0f}"
        return out


def attempt_timeout(timeout: float, seconds_left: Optional[float]) -> httpx.Timeout:
    """For one try: the client's own limit, or what is left until the deadline. Raises DeadlineExceeded at 0."""
    if seconds_left is None:
        return httpx.Timeout(timeout, connect=min(timeout, 10.0))
    if seconds_left <= 0:
        raise DeadlineExceeded("timeout_ms passed before the answer was there", code="deadline")
    return httpx.Timeout(seconds_left + GRACE_SECONDS, connect=min(seconds_left, 10.0))


def error_of_transport(failure: httpx.RequestError, base_url: str, seconds_left: Optional[float]) -> AssayError:
    if isinstance(failure, httpx.TimeoutException) and seconds_left is not None and seconds_left <= 0:
        return DeadlineExceeded("timeout_ms passed without a reply", code="deadline")
    text = str(failure) or type(failure).__name__
    error = ConnectionFailed(f"no reply from {base_url}: {text}", code="connection")
    # Only what happened on the way: a wrong URL or a broken encoding stays wrong.
    error.retryable = isinstance(failure, (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError))
    return error


def error_of_response(response: httpx.Response) -> AssayError:
    """REQUIRES: the response was read."""
    return error_of(response.status_code, response.headers, response.content)


def _invalid(what: str, response: httpx.Response, failure: Exception) -> InvalidReply:
    text = str(failure) if not isinstance(failure, ValidationError) else "; ".join(
        f"{'.'.join(str(step) for step in entry['loc']) or 'body'}: {entry['msg']}" for entry in failure.errors()[:3])
    return InvalidReply(f"not {what}: {text}", status=response.status_code, code="invalid_reply",
                        request_id=request_id_of(response.headers))


def reply_of(response: httpx.Response) -> Reply:
    try:
        return parse_reply(response.content, request_id_of(response.headers))
    except ValidationError as failure:
        raise _invalid("a reply to questions", response, failure) from failure


def one_answer(reply: Reply, question_id: str) -> Any:
    """Its type is that of the question, which the caller knows."""
    if question_id not in reply:
        raise InvalidReply("the reply lacks the answer", code="invalid_reply", request_id=reply.request_id)
    return reply[question_id]


def models_of(response: httpx.Response) -> list[Model]:
    try:
        return parse_models(response.content)
    except ValidationError as failure:
        raise _invalid("a list of models", response, failure) from failure


def object_of(response: httpx.Response) -> dict[str, Any]:
    try:
        value = json.loads(response.content)
    except ValueError as failure:
        raise _invalid("JSON", response, failure) from failure
    return value if isinstance(value, dict) else {"value": value}


class AnswerStream:
    """Answers out of the bytes of one event stream; tells whether it ended as it should."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._events = EventParser()
        self._done = False

    def feed(self, chunk: bytes) -> Iterator[tuple[str, Answer]]:
        for event in self._events.feed(chunk):
            if event.name == "answer":
                yield self._answer(event)
            elif event.name == "error":
                raise error_of_event(event.data, self._response.headers)
            elif event.name == "done":
                self._done = True

    def close(self) -> None:
        """REQUIRES: every byte was fed. Raises ConnectionFailed when the end is missing."""
        if not self._done:
            raise ConnectionFailed("the stream ended before it was done", code="connection",
                                   request_id=request_id_of(self._response.headers))

    def _answer(self, event: Event) -> tuple[str, Answer]:
        try:
            value = json.loads(event.data)
            return value["id"], parse_answer(value["answer"])
        except (ValueError, KeyError, TypeError) as failure:
            raise _invalid("an answer", self._response, failure) from failure


def is_event_stream(response: httpx.Response) -> bool:
    """A server without streams answers in one piece."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower() == EVENTS
