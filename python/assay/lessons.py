"""What a server keeps and learns: feedback, kept decisions, lessons. Each call is one request; for both clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Optional, Protocol, TypeVar, Union
from urllib.parse import quote

from .answers import Decision, Reply, ScoreAnswer, YesNoAnswer
from .protocol import to_json

# What a call gives: an object, or for the asyncio client something that can be awaited for one.
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
# What feedback is about: its id, or what the server answered. An answer's question is known, a reply's is not.
Decided = Union[str, Reply, Decision, YesNoAnswer, ScoreAnswer]


@dataclass(frozen=True)
class Call:
    """One request. `again`: it may be sent twice, so a lost reply is no reason to give up."""

    method: str
    path: str
    body: Optional[bytes] = None
    query: Optional[Mapping[str, str]] = None
    again: bool = True
    seconds: Optional[float] = None  # for this one instead of the client's timeout


class Send(Protocol[R_co]):
    def __call__(self, call: Call) -> R_co: ...


def decision_id_of(decided: Decided) -> str:
    """Raises ValueError when the server kept no decision."""
    told = decided if isinstance(decided, str) else decided.decision_id
    if not told:
        raise ValueError("this answer has no decision id: the server keeps no decisions")
    return told


def _label(decided: Decided, option: Any, question_id: Optional[str], note: Optional[str]) -> dict[str, str]:
    if isinstance(option, bool):
        option = "true" if option else "false"
    out = {"decision_id": decision_id_of(decided), "option": str(option)}
    asked = question_id or (None if isinstance(decided, (str, Reply)) else decided.question_id)
    if asked is not None:
        out["question_id"] = asked
    if note is not None:
        out["note"] = note
    return out


def feedback_call(decided: Decided, option: Any, question_id: Optional[str], note: Optional[str]) -> Call:
    return Call("POST", "/v1/feedback", to_json(_label(decided, option, question_id, note)))


def feedback_all_call(labels: Iterable[Mapping[str, Any]]) -> Call:
    """Each label has `decision` (as of `feedback`) and `option`, and may have `question_id` and `note`."""
    return Call("POST", "/v1/feedback", to_json([
        _label(label["decision"], label["option"], label.get("question_id"), label.get("note")) for label in labels]))


def decision_call(decided: Decided, method: str) -> Call:
    return Call(method, "/v1/decisions/" + quote(decision_id_of(decided), safe=""))


class Lessons(Generic[R]):
    """`client.lessons`: what the server has learnt. The objects are those of docs/http.md."""

    def __init__(self, send: Send[R]) -> None:
        self._send = send

    def list(self) -> R:
        """{"lessons": [...]}: also those that are not used, with the reason."""
        return self._send(Call("GET", "/v1/lessons"))

    def export(self, name: str, version: Optional[int] = None) -> R:
        """The lesson's file; the active version's when none is named."""
        query = None if version is None else {"version": str(version)}
        return self._send(Call("GET", _path(name), query=query))

    def load(self, lesson: Union[bytes, Mapping[str, Any]], *, shadow: bool = False) -> R:
        """A lesson's file, as `export` gave it, as the next version of its name."""
        body = lesson if isinstance(lesson, bytes) else to_json(dict(lesson))
        return self._send(Call("POST", "/v1/lessons", body, {"shadow": "true"} if shadow else None, again=False))

    def fit(self, name: str, *, risk: Optional[float] = None, level: Optional[float] = None,
            method: Optional[str] = None, shadow: bool = False, without_thresholds: bool = False,
            seconds: float = 600.0) -> R:
        """A new version from the labelled decisions. risk: the share of wrong answers among those acted on that a
        threshold is sought for; method "add": the labels since go into the head that is there; without_thresholds: with
        "add", a version with thresholds may be followed by one without; seconds: how long to wait."""
        given = {"risk": risk, "level": level, "method": method, "shadow": True if shadow else None,
                 "without_thresholds": True if without_thresholds else None}
        body = {key: value for key, value in given.items() if value is not None}
        return self._send(Call("POST", _path(name, "fit"), to_json(body), again=False, seconds=seconds))

    def activate(self, name: str, version: int) -> R:
        """An earlier or later version becomes the active one."""
        return self._send(Call("POST", _path(name, "activate"), to_json({"version": version})))

    def promote(self, name: str, *, force: bool = False) -> R:
        """The shadow becomes active; force: even where it does no better."""
        return self._send(Call("POST", _path(name, "promote"), to_json({"force": force}), again=False))

    def drop_shadow(self, name: str) -> R:
        return self._send(Call("DELETE", _path(name, "shadow")))

    def health(self, name: str) -> R:
        """Confidence, abstention and agreement against the labelled answers."""
        return self._send(Call("GET", _path(name, "health")))


def _path(name: str, what: str = "") -> str:
    return "/v1/lessons/" + quote(name, safe="") + ("/" + what if what else "")
