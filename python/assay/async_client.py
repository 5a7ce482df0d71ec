"""The client for asyncio: the methods of `Client`, to be awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Optional, TypeVar, Union, overload

import httpx

from .answers import Answer, Decision, Model, Reply, ScoreAnswer
from .client import ASK, HEALTH, MODELS, OnError, check_map_arguments
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

class AsyncClient:
    """Asks one server, from one event loop. Keep it and close it, or use `async with`. Arguments as of `Client`."""

    def __init__(self, base_url: Optional[str] = None, api_key: Optional[str] = None, *, model: str = DEFAULT_MODEL,
                 timeout: float = 60.0, retry: Optional[Retry] = None, headers: Optional[Mapping[str, str]] = None,
                 transport: Optional[httpx.AsyncBaseTransport] = None) -> None:
        self.model = model
        self._target = Target.of(base_url, api_key, headers)
        self._timeout = timeout
        self._retry = retry or Retry()
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        self._http = httpx.AsyncClient(transport=transport, limits=limits)
        self.lessons: Lessons[Awaitable[dict[str, Any]]] = Lessons(self._object)
        self._sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @property
    def base_url(self) -> str:
        return self._target.base_url

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    # ---- one question ----

    async def decide(self, state: State, question: Json, options: Options, *, min_confidence: Optional[float] = None,
                     none_of_these: Union[bool, str] = False, permute: Optional[int] = None,
                     **settings: Unpack[Settings]) -> Decision:
        """Which of the options? They are a list of names, or a dict of name -> description."""
        return await self._answer(state, Choice(question, options, min_confidence, none_of_these, permute), settings)

    async def yes_no(self, state: State, question: Json, *, yes: Json = None, no: Json = None,
                     permute: Optional[int] = None, **settings: Unpack[Settings]) -> float:
        """The probability of yes."""
        return (await self._answer(state, YesNo(question, yes, no, permute=permute), settings)).probability

    async def score(self, state: State, question: Json, levels: Sequence[Json], *,
                    min_confidence: Optional[float] = None, permute: Optional[int] = None,
                    **settings: Unpack[Settings]) -> ScoreAnswer:
        """How much? The levels go from the lowest to the highest."""
        return await self._answer(state, Score(question, levels, min_confidence, permute), settings)

    # ---- many ----

    async def ask(self, state: State, questions: Questions, **settings: Unpack[Settings]) -> Reply:
        """Many questions on one state, which the server reads once: {"id": Choice(...), "other": YesNo(...)}."""
        return await self._ask(state, questions, settings)

    async def stream(self, state: State, questions: Questions,
                     **settings: Unpack[Settings]) -> AsyncIterator[tuple[str, Answer]]:
        """(id, answer) as soon as each is there, in any order; the answers are those of `ask`.

        Tries again only until the first answer. Closing the iterator ends the request.
        """
        body = ask_body(self.model, state, questions, settings)
        attempts = Attempts(self._retry, settings.get("timeout_ms"))
        told = False
        while True:
            entries = self._stream_once(body, attempts)
            try:
                async for entry in entries:
                    told = True
                    yield entry
                return
            except AssayError as error:
                if told:
                    raise
                wait = attempts.wait_after(error)
            finally:
                await entries.aclose()
            await self._sleep(wait)

    @overload
    async def map(self, states: Iterable[State], question: Question[AnswerT], *, concurrency: int = 16,
                  errors: Literal["raise"] = "raise", **settings: Unpack[Settings]) -> list[AnswerT]: ...
    @overload
    async def map(self, states: Iterable[State], question: Question[AnswerT], *, concurrency: int = 16,
                  errors: Literal["return"], **settings: Unpack[Settings]) -> list[Union[AnswerT, AssayError]]: ...
    @overload
    async def map(self, states: Iterable[State], question: Questions, *, concurrency: int = 16,
                  errors: Literal["raise"] = "raise", **settings: Unpack[Settings]) -> list[Reply]: ...
    @overload
    async def map(self, states: Iterable[State], question: Questions, *, concurrency: int = 16,
                  errors: Literal["return"], **settings: Unpack[Settings]) -> list[Union[Reply, AssayError]]: ...

    async def map(self, states: Iterable[State], question: Union[Question[Any], Questions], *, concurrency: int = 16,
                  errors: OnError = "raise", **settings: Unpack[Settings]) -> list[Any]:
        """One question, or a dict of them, on each of many states: the answers, or replies, in the states' order.

        concurrency: requests at the same time. errors: "raise" the first one and leave the rest undone, or "return"
        each one in the place of its answer.
        """
        check_map_arguments(states, concurrency, errors)
        waiting = enumerate(list(states))
        results: dict[int, Any] = {}

        stop = False

        async def work() -> None:
            nonlocal stop
            for index, state in waiting:  # shared: each takes the next
                if stop:
                    return
                try:
                    if isinstance(question, Question):
                        results[index] = await self._answer(state, question, settings)
                    else:
                        results[index] = await self._ask(state, question, settings)
                except BaseException as error:
                    if errors == "raise" or not isinstance(error, AssayError):
                        stop = True
                        raise
                    results[index] = error

        tasks = [asyncio.ensure_future(work()) for _ in range(concurrency)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return [results[index] for index in range(len(results))]

    # ---- what was right ----

    async def feedback(self, decided: Decided, option: Any, *, question_id: Optional[str] = None,
                       note: Optional[str] = None) -> str:
        """Says which option was right: "stored", "known" (said before) or "corrected". On the server's disk when it
        returns. decided: an answer, a reply of one question, or its decision_id; option: a choice's name, a score's
        level, True or False."""
        return str((await self._object(feedback_call(decided, option, question_id, note))).get("result"))

    async def feedback_all(self, labels: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Many at once: [{"decision": answer or id, "option": ..., "question_id"?, "note"?}]. Gives "results", one for
        each, and how many were "stored", "known", "corrected" and "refused"."""
        return await self._object(feedback_all_call(labels))

    async def kept(self, decided: Decided) -> dict[str, Any]:
        """The decision as the server keeps it."""
        return await self._object(decision_call(decided, "GET"))

    async def forget(self, decided: Decided) -> None:
        """The server removes the decision, its state and its feedback. Raises NotFound when there is none."""
        await self._object(decision_call(decided, "DELETE"))

    # ---- the server ----

    async def models(self) -> list[Model]:
        """The names that `model` may have."""
        return models_of(await self._get(MODELS))

    async def health(self) -> dict[str, Any]:
        """What the server says of itself. Raises Overloaded while it loads."""
        return object_of(await self._get(HEALTH, Retry(tries=1)))

    # ---- requests ----

    async def _answer(self, state: State, question: Question[AnswerT], settings: Settings) -> AnswerT:
        answer: AnswerT = one_answer(await self._ask(state, {"q": question}, settings), "q")
        return answer

    async def _ask(self, state: State, questions: Questions, settings: Settings) -> Reply:
        body = ask_body(self.model, state, questions, settings)
        attempts = Attempts(self._retry, settings.get("timeout_ms"))

        async def call() -> Reply:
            return reply_of(await self._send(self._ask_request(body, JSON, attempts), attempts))

        return await self._again(call, attempts)

    async def _get(self, path: str, retry: Optional[Retry] = None) -> httpx.Response:
        attempts = Attempts(retry or self._retry, None)
        request = self._http.build_request("GET", self._target.url(path), timeout=attempt_timeout(self._timeout, None),
                                           headers={**self._target.headers, "accept": JSON})
        return await self._again(lambda: self._send(request, attempts), attempts)

    async def _object(self, call: Call) -> dict[str, Any]:
        attempts = Attempts(self._retry if call.again else Retry(tries=1), None)
        headers = {**self._target.headers, "accept": JSON}
        if call.body is not None:
            headers["content-type"] = JSON
        request = self._http.build_request(call.method, self._target.url(call.path), content=call.body,
                                           params=call.query, headers=headers,
                                           timeout=attempt_timeout(call.seconds or self._timeout, None))
        return object_of(await self._again(lambda: self._send(request, attempts), attempts))

    def _ask_request(self, body: bytes, accept: str, attempts: Attempts) -> httpx.Request:
        left = attempts.seconds_left()
        return self._http.build_request("POST", self._target.url(ASK), content=body,
                                        headers=self._target.ask_headers(accept, left),
                                        timeout=attempt_timeout(self._timeout, left))

    async def _send(self, request: httpx.Request, attempts: Attempts, stream: bool = False) -> httpx.Response:
        """One try. Whatever goes wrong is an AssayError."""
        try:
            response = await self._http.send(request, stream=stream)
            if not response.is_success:
                try:
                    await response.aread()
                finally:
                    await response.aclose()
        except httpx.RequestError as failure:
            raise error_of_transport(failure, self.base_url, attempts.seconds_left()) from failure
        if response.is_success:
            return response
        raise error_of_response(response)

    async def _again(self, call: Callable[[], Awaitable[T]], attempts: Attempts) -> T:
        """The first success; raises the last error when there is none."""
        while True:
            try:
                return await call()
            except AssayError as error:
                wait = attempts.wait_after(error)
            await self._sleep(wait)

    async def _stream_once(self, body: bytes, attempts: Attempts) -> AsyncGenerator[tuple[str, Answer], None]:
        response = await self._send(self._ask_request(body, EVENTS, attempts), attempts, stream=True)
        try:
            if not is_event_stream(response):
                await response.aread()
                for entry in reply_of(response).items():
                    yield entry
                return
            answers = AnswerStream(response)
            async for chunk in response.aiter_bytes():
                for entry in answers.feed(chunk):
                    yield entry
            answers.close()
        except httpx.RequestError as failure:
            raise error_of_transport(failure, self.base_url, attempts.seconds_left()) from failure
        finally:
            await response.aclose()
