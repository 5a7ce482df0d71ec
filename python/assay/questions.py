"""Questions, as a caller writes them, and their form on the wire (`POST /v1/systemone`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Optional, TypedDict, TypeVar, Union

from .answers import Answer, Decision, ScoreAnswer, YesNoAnswer
from .images import Image, assets_to_wire, images_to_wire

# Anything that is JSON. A state is a string, an object or an array; the order of an object's keys is kept.
Json = Union[str, int, float, bool, None, Mapping[str, Any], Sequence[Any]]
State = Union[str, Mapping[str, Any], Sequence[Any]]
# Names, or names with what they mean. A meaning of None: the name speaks for itself.
Options = Union[Sequence[str], Mapping[str, Any]]

WireObject = dict[str, Any]
AnswerT = TypeVar("AnswerT", bound=Answer)


class Question(ABC, Generic[AnswerT]):
    """A `Choice`, a `YesNo` or a `Score`; the parameter is the type of its answer."""

    @abstractmethod
    def to_wire(self) -> WireObject:
        """As JSON. Raises TypeError or ValueError where the question cannot be meant so."""


def _add_extensions(out: WireObject, min_confidence: Optional[float], permute: Optional[int]) -> WireObject:
    if min_confidence is not None:
        out["x_min_confidence"] = min_confidence
    if permute is not None:
        out["x_permute"] = permute
    return out


def _criteria(options: Options) -> WireObject:
    if isinstance(options, str):
        raise TypeError("options is one string; give a list of names, or a dict of name -> description")
    if isinstance(options, Mapping):
        names = list(options)
        out = dict(options)
    else:
        names = list(options)
        out = dict.fromkeys(names)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"an option's name must be a string, not {type(name).__name__}: {name!r}")
    if len(out) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"option {twice!r} is given twice")
    if not out:
        raise ValueError("options is empty; a choice needs at least one")
    return out


@dataclass(frozen=True)
class Choice(Question[Decision]):
    """Which of the options? The answer is a `Decision`.

    min_confidence: below it the answer abstains: `choice` is None. none_of_these: the server adds the option
    "none_of_these"; a text is what it means. permute: the mean over so many orders of the options, which cancels a
    liking for a place in the list and costs as many questions.
    """

    question: Json
    options: Options
    min_confidence: Optional[float] = None
    none_of_these: Union[bool, str] = False
    permute: Optional[int] = None

    def to_wire(self) -> WireObject:
        out: WireObject = {"type": "choice", "instructions": self.question, "criteria": _criteria(self.options)}
        if self.none_of_these:
            out["x_none_of_these"] = self.none_of_these
        return _add_extensions(out, self.min_confidence, self.permute)


@dataclass(frozen=True)
class YesNo(Question[YesNoAnswer]):
    """Is it so? The answer is a `YesNoAnswer`. `yes` and `no` say what each side means, if that needs saying."""

    question: Json
    yes: Json = None
    no: Json = None
    min_confidence: Optional[float] = None
    permute: Optional[int] = None

    def to_wire(self) -> WireObject:
        out: WireObject = {"type": "noul", "instructions": self.question}
        criteria = {side: text for side, text in (("true", self.yes), ("false", self.no)) if text is not None}
        if criteria:
            out["criteria"] = criteria
        return _add_extensions(out, self.min_confidence, self.permute)


@dataclass(frozen=True)
class Score(Question[ScoreAnswer]):
    """How much? `levels` go from the lowest to the highest; the answer is a `ScoreAnswer`, 0 to len(levels) - 1."""

    question: Json
    levels: Sequence[Json]
    min_confidence: Optional[float] = None
    permute: Optional[int] = None

    def to_wire(self) -> WireObject:
        if isinstance(self.levels, (str, Mapping)):
            raise TypeError("levels must be a list, lowest level first")
        if not self.levels:
            raise ValueError("levels is empty; a score needs at least one")
        out: WireObject = {"type": "score", "instructions": self.question, "criteria": list(self.levels)}
        return _add_extensions(out, self.min_confidence, self.permute)


Questions = Mapping[str, Question[Any]]


class Settings(TypedDict, total=False):
    """What may be said about a whole request: keywords of every method that asks."""

    timeout_ms: float  # later the answer is of no use; all tries together
    readout: str  # "letters", "text" or "head"; left out: the server's choice
    layout: str  # "state_first" or "question_first"; left out: the server's choice
    priority: str  # "interactive" or "bulk"; left out: interactive
    receipt: bool  # fill Reply.receipt
    lesson: str  # a lesson's name, or "none"; left out: the one for the question, if any
    calibrated: bool  # an answer without calibrated probabilities is an error
    images: Sequence[Image]  # what the questions are about, beside the state; in this order
    assets: Mapping[str, Image]  # the same by references, which must stand in the state or in a question
    extra: Mapping[str, Any]  # more top-level fields, sent as they are


def settings_to_wire(settings: Settings) -> WireObject:
    """All but the timeout, which is counted down from try to try and so goes into a header. Files of images are read."""
    for name in settings:
        if name not in Settings.__annotations__:
            raise TypeError(f"unknown keyword {name!r}; there are {', '.join(Settings.__annotations__)}")
    timeout_ms = settings.get("timeout_ms")
    if timeout_ms is not None and not timeout_ms > 0:
        raise ValueError(f"timeout_ms must be above 0, not {timeout_ms}")
    out = dict(settings.get("extra") or {})
    for name in ("readout", "layout", "priority", "lesson"):
        if settings.get(name) is not None:
            out["x_" + name] = settings.get(name)
    for name in ("receipt", "calibrated"):
        if settings.get(name):
            out["x_" + name] = True
    if settings.get("images") is not None:
        out["images"] = images_to_wire(settings["images"])
    if settings.get("assets") is not None:
        out["assets"] = assets_to_wire(settings["assets"])
    return out
