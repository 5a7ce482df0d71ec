"""The client that waits for its answers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Optional, TypeVar, Union, overload

import httpx

from .answers import Answer, Decision, Model, Reply, ScoreAnswer
from .errors import AssayError
from .lessons import Call, Decided, Lessons, decision_call, feedback_all_call, feedback_call
from .protocol import (
    DEFAULT_MODEL,
    EVENTS,
    JSON,
    AnswerStream,
    Target,
    ask_body,
    attempt_timeout,
    error_of_response,
    error_of_transport,
    is_event_stream,
    models_of,
    object_of,
    one_answer,
    reply_of,
)
from .questions import AnswerT, Choice, Json, Options, Question, Questions, Score, Settings, State, YesNo
from .retries import Attempts, Retry

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
OnError = Literal["raise", "return"]
ASK, MODELS, HEALTH = "/v1/systemone", "/v1/models", "/health"


class Client:
    """Asks one server. Thread-safe; holds connections, so keep it and close it, or use `with`.

    base_url: ASSAY_BASE_URL, else http://127.0.0.1:8080. api_key: ASSAY_API_KEY, else none. model: the name that
    requests carry. timeout: seconds for one try of a request that has no timeout_ms. transport: httpx's, for tests.
    """

    def __init__(self, base_url: Optional[str] = None, api_key: Optional[str] = None, *, model: str = DEFAULT_MODEL,
                 timeout: float = 60.0, retry: Optional[Retry] = None, headers: Optional[Mapping[str, str]] = None,
                 transport: Optional[httpx.BaseTransport] = None) -> None:
        self.model = model
        self._target = Target.of(base_url, api_key, headers)
        self._timeout = timeout
        self._retry = retry or Retry()
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        self._http = httpx.Client(transport=transport, limits=limits)
        self.lessons: Lessons[dict[str, Any]] = Lessons(self._object)
        self._sleep: Callable[[float], None] = time.sleep

    @property
    def base_url(self) -> str:
        return self._target.base_url

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    # ---- one question ----

    def decide(self, state: State, question: Json, options: Options, *, min_confidence: Optional[float] = None,
               none_of_these: Union[bool, str] = False, permute: Optional[int] = None,
               **settings: Unpack[Settings]) -> Decision:
        """Which of the options? They are a list of names, or a dict of name -> description."""
        return self._answer(state, Choice(question, options, min_confidence, none_of_these, permute), settings)

    def yes_no(self, state: State, question: Json, *, yes: Json = None, no: Json = None, permute: Optional[int] = None,
               **settings: Unpack[Settings]) -> float:
        """The probability of yes."""
        return self._answer(state, YesNo(question, yes, no, permute=permute), settings).probability

    def score(self, state: State, question: Json, levels: Sequence[Json], *, min_confidence: Optional[float] = None,
              permute: Optional[int] = None, **settings: Unpack[Settings]) -> ScoreAnswer:
        """How much? The levels go from the lowest to the highest."""
        return self._answer(state, Score(question, levels, min_confidence, permute), settings)

    # ---- many ----

    def ask(self, state: State, questions: Questions, **settings: Unpack[Settings]) -> Reply:
        """Many questions on one state, which the server reads once: {"id": Choice(...), "other": YesNo(...)}."""
        return self._ask(state, questions, settings)

    def stream(self, state: State, questions: Questions, **settings: Unpack[Settings]) -> Iterator[tuple[str, Answer]]:
        """(id, answer) as soon as each is there, in any order; the answers are those of `ask`.

        Tries again only until the first answer. Leaving the loop early ends the request.
        """
        body = ask_body(self.model, state, questions, settings)
        attempts = Attempts(self._retry, settings.get("timeout_ms"))
        told = False
        while True:
            try:
                for entry in self._stream_once(body, attempts):
                    told = True
                    yield entry
                return
            except AssayError as error:
                if told:
                    raise
                wait = attempts.wait_after(error)
            self._sleep(wait)

    @overload
    def map(self, states: Iterable[State], question: Question[AnswerT], *, concurrency: int = 16,
            errors: Literal["raise"] = "raise", **settings: Unpack[Settings]) -> list[AnswerT]: ...
    @overload
    def map(self, states: Iterable[State], question: Question[AnswerT], *, concurrency: int = 16,
            errors: Literal["return"], **settings: Unpack[Settings]) -> list[Union[AnswerT, AssayError]]: ...
    @overload
    def map(self, states: Iterable[State], question: Questions, *, concurrency: int = 16,
            errors: Literal["raise"] = "raise", **settings: Unpack[Settings]) -> list[Reply]: ...
    @overload
    def map(self, states: Iterable[State], question: Questions, *, concurrency: int = 16,
            errors: Literal["return"], **settings: Unpack[Settings]) -> list[Union[Reply, AssayError]]: ...

    def map(self, states: Iterable[State], question: Union[Question[Any], Questions], *, concurrency: int = 16,
            errors: OnError = "raise", **settings: Unpack[Settings]) -> list[Any]:
        """One question, or a dict of them, on each of many states: the answers, or replies, in the states' order.

        concurrency: requests at the same time. errors: "raise" the first one and leave the rest undone, or "return"
        each one in the place of its answer.
        """
        def one(state: State) -> Any:
            if isinstance(question, Question):
                return self._answer(state, question, settings)
            return self._ask(state, question, settings)

        return _map(one, states, concurrency, errors)

    # ---- what was right ----

    def feedback(self, decided: Decided, option: Any, *, question_id: Optional[str] = None,
                 note: Optional[str] = None) -> str:
        """Says which option was right: "stored", "known" (said before) or "corrected". On the server's disk when it
        returns. decided: an answer, a reply of one question, or its decision_id; option: a choice's name, a score's
        level, True or False."""
        return str((self._object(feedback_call(decided, option, question_id, note))).get("result"))

    def feedback_all(self, labels: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Many at once: [{"decision": answer or id, "option": ..., "question_id"?, "note"?}]. Gives "results", one for
        each, and how many were "stored", "known", "corrected" and "refused"."""
        return self._object(feedback_all_call(labels))

    def kept(self, decided: Decided) -> dict[str, Any]:
        """The decision as the server keeps it."""
        return self._object(decision_call(decided, "GET"))

    def forget(self, decided: Decided) -> None:
        """The server removes the decision, its state and its feedback. Raises NotFound when there is none."""
        self._object(decision_call(decided, "DELETE"))

    # ---- the server ----

    def models(self) -> list[Model]:
        """The names that `model` may have."""
        return models_of(self._get(MODELS))

    def health(self) -> dict[str, Any]:
        """What the server says of itself. Raises Overloaded while it loads."""
        return object_of(self._get(HEALTH, Retry(tries=1)))

    # ---- requests ----

    def _answer(self, state: State, question: Question[AnswerT], settings: Settings) -> AnswerT:
        answer: AnswerT = one_answer(self._ask(state, {"q": question}, settings), "q")
        return answer

    def _ask(self, state: State, questions: Questions, settings: Settings) -> Reply:
        body = ask_body(self.model, state, questions, settings)
        attempts = Attempts(self._retry, settings.get("timeout_ms"))
        return self._again(lambda: reply_of(self._send(self._ask_request(body, JSON, attempts), attempts)), attempts)

    def _get(self, path: str, retry: Optional[Retry] = None) -> httpx.Response:
        attempts = Attempts(retry or self._retry, None)
        request = self._http.build_request("GET", self._target.url(path), timeout=attempt_timeout(self._timeout, None),
                                           headers={**self._target.headers, "accept": JSON})
        return self._again(lambda: self._send(request, attempts), attempts)

    def _object(self, call: Call) -> dict[str, Any]:
        attempts = Attempts(self._retry if call.again else Retry(tries=1), None)
        headers = {**self._target.headers, "accept": JSON}
        if call.body is not None:
            headers["content-type"] = JSON
        request = self._http.build_request(call.method, self._target.url(call.path), content=call.body,
                                           params=call.query, headers=headers,
                                           timeout=attempt_timeout(call.seconds or self._timeout, None))
        return object_of(self._again(lambda: self._send(request, attempts), attempts))

    def _ask_request(self, body: bytes, accept: str, attempts: Attempts) -> httpx.Request:
        left = attempts.seconds_left()
        return self._http.build_request("POST", self._target.url(ASK), content=body,
                                        headers=self._target.ask_headers(accept, left),
                                        timeout=attempt_timeout(self._timeout, left))

    def _send(self, request: httpx.Request, attempts: Attempts, stream: bool = False) -> httpx.Response:
        """One try. Whatever goes wrong is an AssayError."""
        try:
            response = self._http.send(request, stream=stream)
            if not response.is_success:
                try:
                    response.read()
                finally:
                    response.close()
        except httpx.RequestError as failure:
            raise error_of_transport(failure, self.base_url, attempts.seconds_left()) from failure
        if response.is_success:
            return response
        raise error_of_response(response)

    def _again(self, call: Callable[[], T], attempts: Attempts) -> T:
        """The first success; raises the last error when there is none."""
        while True:
            try:
                return call()
            except AssayError as error:
                wait = attempts.wait_after(error)
            self._sleep(wait)

    def _stream_once(self, body: bytes, attempts: Attempts) -> Iterator[tuple[str, Answer]]:
        response = self._send(self._ask_request(body, EVENTS, attempts), attempts, stream=True)
        try:
            if not is_event_stream(response):
                response.read()
                yield from reply_of(response).items()
                return
            answers = AnswerStream(response)
            for chunk in response.iter_bytes():
                yield from answers.feed(chunk)
            answers.close()
        except httpx.RequestError as failure:
            raise error_of_transport(failure, self.base_url, attempts.seconds_left()) from failure
        finally:
            response.close()


def check_map_arguments(states: Iterable[State], concurrency: int, errors: OnError) -> None:
    if isinstance(states, (str, Mapping)):
        raise TypeError("states is one state; give a list of them")
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, not {concurrency}")
    if errors not in ("raise", "return"):
        raise ValueError(f'errors must be "raise" or "return", not {errors!r}')


def _map(call: Callable[[State], T], states: Iterable[State], concurrency: int, errors: OnError) -> list[Any]:
    """Threads that each take the next state until there is none. One error ends all, or stays in its place."""
    check_map_arguments(states, concurrency, errors)
    waiting = enumerate(list(states))
    lock = threading.Lock()
    results: dict[int, Any] = {}
    failures: list[tuple[int, BaseException]] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            with lock:
                entry = next(waiting, None)
            if entry is None:
                return
            index, state = entry
            try:
                results[index] = call(state)
            except BaseException as error:
                if errors == "return" and isinstance(error, AssayError):
                    results[index] = error
                    continue
                # Raised in the caller's thread, as is the caller's own mistake, such as a state that is no JSON.
                failures.append((index, error))
                stop.set()
                return

    threads = [threading.Thread(target=work, daemon=True) for _ in range(concurrency)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:  # also after Ctrl-C
        stop.set()
    if failures:
        raise min(failures, key=lambda failure: failure[0])[1]
    return [results[index] for index in range(len(results))]


# ---- without a client of one's own ----

_default: dict[tuple[Any, ...], Client] = {}
_default_lock = threading.Lock()


def default_client() -> Client:
    """The one that the functions below share: of what the environment says now, and of this process alone."""
    key = (os.getpid(), os.environ.get("ASSAY_BASE_URL"), os.environ.get("ASSAY_API_KEY"))
    with _default_lock:
        if key not in _default:
            _default[key] = Client()
        return _default[key]


def decide(state: State, question: Json, options: Options, *, min_confidence: Optional[float] = None,
           none_of_these: Union[bool, str] = False, permute: Optional[int] = None,
           **settings: Unpack[Settings]) -> Decision:
    """Which of the options? They are a list of names, or a dict of name -> description."""
    return default_client().decide(state, question, options, min_confidence=min_confidence, none_of_these=none_of_these,
                                   permute=permute, **settings)


def yes_no(state: State, question: Json, *, yes: Json = None, no: Json = None, permute: Optional[int] = None,
           **settings: Unpack[Settings]) -> float:
    """The probability of yes."""
    return default_client().yes_no(state, question, yes=yes, no=no, permute=permute, **settings)


def score(state: State, question: Json, levels: Sequence[Json], *, min_confidence: Optional[float] = None,
          permute: Optional[int] = None, **settings: Unpack[Settings]) -> ScoreAnswer:
    """How much? The levels go from the lowest to the highest."""
    return default_client().score(state, question, levels, min_confidence=min_confidence, permute=permute, **settings)


def ask(state: State, questions: Questions, **settings: Unpack[Settings]) -> Reply:
    """Many questions on one state, which the server reads once: {"id": Choice(...), "other": YesNo(...)}."""
    return default_client().ask(state, questions, **settings)
