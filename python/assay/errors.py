"""What can go wrong, one class for each thing that a caller would do about it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Optional


class AssayError(Exception):
    """Any failure of a request. A wrong argument that never reached a server is a TypeError or a ValueError instead."""

    retryable = False  # the same request can succeed later

    def __init__(self, message: str, *, status: Optional[int] = None, code: Optional[str] = None,
                 field: Optional[str] = None, request_id: Optional[str] = None,
                 retry_after_seconds: Optional[float] = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status  # of HTTP; None: there was no reply
        self.code = code  # the server's name for the kind of error
        self.field = field  # which field is at fault, such as "questions.q1.criteria"
        self.request_id = request_id
        self.retry_after_seconds = retry_after_seconds  # as the server asked

    @property
    def path(self) -> Optional[str]:
        """Another name of `field`."""
        return self.field

    def __str__(self) -> str:
        marks = [str(self.status)] if self.status is not None else []
        marks += [mark for mark in (self.code, self.field) if mark and mark not in self.message]
        return f"{self.message} ({', '.join(marks)})" if marks else self.message


class BadRequest(AssayError):
    """The request breaks a rule; `field` says where. 400, 415, 422 and other 4xx."""


class Unauthorized(AssayError):
    """No API key, or a wrong one. 401, 403."""


class NotFound(AssayError):
    """No such route: is the base URL right? 404."""


class TooLong(AssayError):
    """Above one of the server's limits; nothing is ever cut to fit. 413."""


class RateLimited(AssayError):
    """Too many requests, or this one could not be in time. 429."""

    retryable = True


class Overloaded(AssayError):
    """The queue is full, or the server is starting or stopping. 503, 529."""

    retryable = True


class ServerError(AssayError):
    """A fault of the server. Other 5xx; worth another try, except for 501."""

    retryable = True


class DeadlineExceeded(AssayError):
    """`timeout_ms` passed before the answer was there. 504, or no reply at all."""


class ConnectionFailed(AssayError):
    """No server at the base URL, or the connection broke."""

    retryable = True


class InvalidReply(AssayError):
    """A reply that is not what the route promises: another kind of server?"""


_BY_STATUS: dict[int, type[AssayError]] = {
    401: Unauthorized, 403: Unauthorized, 404: NotFound, 413: TooLong, 429: RateLimited, 503: Overloaded,
    504: DeadlineExceeded, 529: Overloaded,
}
# For events of a stream, which have no status of their own.
_STATUS_BY_CODE = {
    "invalid_argument": 400, "too_long": 413, "not_found": 404, "media_type": 415, "unauthorized": 401,
    "overloaded": 503, "too_busy": 429, "unavailable": 503, "deadline": 504,
}
_CODES_OF_LENGTH = ("too_long", "tokens_exceeded")


def _text(value: Any) -> Optional[str]:
    return value if isinstance(value, str) and value else None


def _place(loc: Any) -> Optional[str]:
    """["body", "questions", "q", "choice"] as "questions.q.choice"."""
    if not isinstance(loc, list):
        return _text(loc)
    steps = [str(step) for step in loc]
    return ".".join(steps[1:] if steps[:1] == ["body"] else steps) or None


def _first(*values: Optional[str]) -> Optional[str]:
    return next((value for value in values if value), None)


def _facts(body: Any) -> tuple[Optional[str], Optional[str], Optional[str]]:
    """(message, code, field) of an error's body, in any of the forms in use."""
    if not isinstance(body, dict):
        return None, None, None
    error, detail = body.get("error"), body.get("detail")
    inner = error if isinstance(error, dict) else {}
    outer = detail if isinstance(detail, dict) else {}
    entries = [entry for entry in detail if isinstance(entry, dict)] if isinstance(detail, list) else []
    joined = "; ".join(f"{_place(entry.get('loc')) or 'body'}: {entry.get('msg')}" for entry in entries)
    message = _first(_text(error), _text(inner.get("message")), _text(body.get("message")), _text(detail),
                     _text(outer.get("message")), joined)
    code = _first(_text(body.get("code")), _text(body.get("x_code")), _text(inner.get("code")),
                  _text(inner.get("type")), _text(outer.get("error_type")),
                  *(_text(entry.get("type")) for entry in entries))
    field = _first(*(_text(part.get(name)) for part in (body, inner, outer) for name in ("field", "path", "param")),
                   *(_place(entry.get("loc")) for entry in entries))
    return message, code, field


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> Optional[float]:
    """How long the server asks to wait: `retry-after-ms`, or `retry-after`, seconds or a date. None: it does not."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) * unit
            if math.isfinite(seconds) and seconds >= 0:
                return seconds
        except ValueError:
            pass
    try:
        date = parsedate_to_datetime(headers.get("retry-after") or "")
    except (TypeError, ValueError, IndexError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max(0.0, (date - now).total_seconds())


def request_id_of(headers: Mapping[str, str]) -> Optional[str]:
    return headers.get("x-request-id") or headers.get("x-typesafe-request-id")


def error_of(status: int, headers: Mapping[str, str], content: bytes) -> AssayError:
    """The error that a reply of this status means. REQUIRES: names of headers are found in lower case."""
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    message, code, field = _facts(body)
    if message is None:
        message = content[:200].decode("utf-8", "replace").strip() or f"HTTP status {status}"
    kind = _BY_STATUS.get(status) or (ServerError if status >= 500 else BadRequest)
    if kind is BadRequest and code in _CODES_OF_LENGTH:
        kind = TooLong
    error = kind(message, status=status, code=code, field=field, request_id=request_id_of(headers),
                 retry_after_seconds=retry_after_seconds(headers, datetime.now(timezone.utc)))
    if status == 501:
        error.retryable = False
    return error


def error_of_event(data: str, headers: Mapping[str, str]) -> AssayError:
    """The error that an `error` event of a stream means."""
    try:
        body = json.loads(data)
    except ValueError:
        body = None
    status = body.get("status") if isinstance(body, dict) else None
    inner = body.get("error") if isinstance(body, dict) else None
    if not isinstance(status, int) and isinstance(inner, dict):
        status = inner.get("code")
    if not isinstance(status, int):
        status = _STATUS_BY_CODE.get(_facts(body)[1] or "", 500)
    return error_of(status, headers, data.encode("utf-8", "replace"))
