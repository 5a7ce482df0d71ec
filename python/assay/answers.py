"""Answers, as they come from `POST /v1/systemone`. Fields that this version does not know are kept in `model_extra`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Optional, TypeVar, Union

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

T = TypeVar("T")


class LessonUse(BaseModel):
    """The lesson that an answer was made with."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    version: int
    sha256: str = ""  # of its file
    taught: bool = False  # its head answered; else it calibrated alone


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)

    # The confidence is below the question's min_confidence.
    abstained: bool = Field(default=False, alias="x_abstained")
    readout: Optional[str] = Field(default=None, alias="x_readout")
    reliability: Optional[str] = Field(default=None, alias="x_reliability")
    # Letters: the share of the whole vocabulary's probability that was on the options. Little: the prompt does not fit.
    allowed_mass: Optional[float] = Field(default=None, alias="x_allowed_mass")
    # What a lesson did to it, where the server keeps lessons.
    calibrated: bool = Field(default=False, alias="x_calibrated")  # 0.9 means nine of ten
    lesson: Optional[LessonUse] = Field(default=None, alias="x_lesson")
    lesson_note: Optional[str] = Field(default=None, alias="x_lesson_note")  # why one was not used
    action: Optional[str] = Field(default=None, alias="x_decision")  # "act" or "escalate", by its threshold
    threshold: Optional[float] = Field(default=None, alias="x_threshold")
    risk: Optional[float] = Field(default=None, alias="x_risk")
    fallback: Any = Field(default=None, alias="x_fallback")  # the option to answer with where it escalates
    # What feedback names. Filled from the reply; None where the server keeps no decisions.
    decision_id: Optional[str] = Field(default=None, exclude=True)
    question_id: Optional[str] = Field(default=None, exclude=True)


class Decision(_Answer):
    """The answer to a `Choice`."""

    type: Literal["choice"] = "choice"
    choice: Optional[str]  # the option of the highest probability; None: abstained
    probabilities: dict[str, float]  # for each option, in the request's order; they sum to 1
    confidence: float  # how far it stands above guessing, in [0, 1]

    @property
    def best(self) -> str:
        """The first option of the highest probability, also when the answer abstained."""
        return max(self.probabilities, key=self.probabilities.__getitem__)

    @property
    def probability(self) -> float:
        """Of `best`."""
        return max(self.probabilities.values())

    def __str__(self) -> str:
        return "abstained" if self.choice is None else self.choice


class YesNoAnswer(_Answer):
    """The answer to a `YesNo`. float(answer) is the probability of yes."""

    type: Literal["noul"] = "noul"
    noul: Optional[float]  # the probability of yes, under the wire's name; None: abstained
    x_confidence: Optional[float] = None  # the server's, told where the question has a min_confidence
    x_noul: Optional[float] = None  # the probability of yes when the answer abstained

    @property
    def probability(self) -> float:
        """Of yes, also when the answer abstained; NaN where the server does not tell it then."""
        told = self.x_noul if self.noul is None else self.noul
        return float("nan") if told is None else told

    @property
    def probabilities(self) -> dict[str, float]:
        return {"yes": self.probability, "no": 1 - self.probability}

    @property
    def confidence(self) -> float:
        """How far it stands above guessing, in [0, 1]."""
        if self.x_confidence is not None:
            return self.x_confidence
        return abs(2 * self.probability - 1)

    @property
    def yes(self) -> bool:
        """Yes is likelier than no. False when the answer abstained."""
        return self.noul is not None and self.noul > 0.5

    def __float__(self) -> float:
        return float("nan") if self.noul is None else self.noul


class ScoreAnswer(_Answer):
    """The answer to a `Score`. float(answer) is the score."""

    type: Literal["score"] = "score"
    score: Optional[float]  # the mean level, from 0 to the number of levels - 1; None: abstained
    legend: dict[int, Any]  # the levels as the request gave them
    probabilities: dict[int, float]  # for each level; they sum to 1
    confidence: float

    @property
    def best(self) -> int:
        """The first level of the highest probability, also when the answer abstained."""
        return max(self.probabilities, key=self.probabilities.__getitem__)

    @property
    def probability(self) -> float:
        """Of `best`."""
        return max(self.probabilities.values())

    @property
    def share(self) -> float:
        """The score on a scale from 0 to 1; NaN when the answer abstained."""
        return float(self) / max(1, len(self.probabilities) - 1)

    def __float__(self) -> float:
        return float("nan") if self.score is None else self.score


Answer = Union[Decision, YesNoAnswer, ScoreAnswer]
_ANSWER: TypeAdapter[Answer] = TypeAdapter(Annotated[Answer, Field(discriminator="type")])


def parse_answer(value: Any) -> Answer:
    """Raises pydantic.ValidationError when `value`, a parsed JSON object, is no answer."""
    return _ANSWER.validate_python(value)


class Usage(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    input_tokens: int = 0
    output_tokens: int = 0


class _ReplyBody(BaseModel):
    model_config = ConfigDict(extra="allow")

    model: str
    answers: dict[str, Annotated[Answer, Field(discriminator="type")]]
    usage: Usage = Usage()


@dataclass(frozen=True)
class Reply(Mapping[str, Answer]):
    """All answers of one request: a mapping from question id to answer, in the request's order."""

    answers: dict[str, Answer]
    model: str  # the id of the model that answered
    usage: Usage
    request_id: Optional[str]  # to be named when a request is asked about
    extra: dict[str, Any]  # further top-level fields of the reply, such as x_receipt

    @property
    def calibrated(self) -> Optional[bool]:
        """Whether 0.9 means nine of ten; None: the server does not say."""
        return self.extra.get("x_calibrated")

    @property
    def decision_id(self) -> Optional[str]:
        """What feedback names; None: the server keeps no decisions."""
        return self.extra.get("x_decision_id")

    @property
    def receipt(self) -> Optional[dict[str, str]]:
        """With `receipt=True`: hashes of what the answers were computed from, and of the scores."""
        return self.extra.get("x_receipt")

    def __getitem__(self, question_id: str) -> Answer:
        return self.answers[question_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    # One for each type: the answer as what it is, for a reader and for a type checker.

    def decision(self, question_id: str) -> Decision:
        return _of_type(self, question_id, Decision)

    def yes_no(self, question_id: str) -> YesNoAnswer:
        return _of_type(self, question_id, YesNoAnswer)

    def score(self, question_id: str) -> ScoreAnswer:
        return _of_type(self, question_id, ScoreAnswer)


def _of_type(reply: Reply, question_id: str, wanted: type[T]) -> T:
    answer = reply[question_id]
    if not isinstance(answer, wanted):
        raise TypeError(f"the answer to {question_id!r} is a {type(answer).__name__}, not a {wanted.__name__}")
    return answer


def parse_reply(body: bytes, request_id: Optional[str]) -> Reply:
    """Raises pydantic.ValidationError when the body is no reply."""
    parsed = _ReplyBody.model_validate_json(body)
    extra = dict(parsed.model_extra or {})
    answers = parsed.answers
    if extra.get("x_decision_id"):
        answers = {name: answer.model_copy(update={"decision_id": extra["x_decision_id"], "question_id": name})
                   for name, answer in answers.items()}
    return Reply(answers, parsed.model, parsed.usage, request_id, extra)


class Model(BaseModel):
    """One entry of `models()`: a name that requests may use."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    description: str = ""
    release_date: str = ""


class _ModelList(BaseModel):
    models: list[Model]


def parse_models(body: bytes) -> list[Model]:
    return _ModelList.model_validate_json(body).models
