"""Answers as numpy arrays and pandas frames. Both are optional: pip install 'assay[pandas]'."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Union

from .answers import Answer, Decision, Reply, ScoreAnswer
from .errors import AssayError

if TYPE_CHECKING:
    import numpy
    import pandas

Row = Union[Answer, AssayError, Reply]


def to_numpy(answers: Iterable[Union[Answer, AssayError]]) -> tuple[list[Any], numpy.ndarray[Any, Any]]:
    """(labels, probabilities): one row for each answer to the same question, one column for each label.

    The row of an error is NaN. Raises ValueError when two answers have different labels.
    """
    import numpy

    rows = list(answers)
    labels: list[Any] = next((list(row.probabilities) for row in rows if not isinstance(row, AssayError)), [])
    out = numpy.full((len(rows), len(labels)), numpy.nan)
    for index, row in enumerate(rows):
        if isinstance(row, AssayError):
            continue
        if list(row.probabilities) != labels:
            raise ValueError(f"answer {index} has the options {list(row.probabilities)}, an earlier one {labels}")
        out[index] = list(row.probabilities.values())
    return labels, out


def _columns(answer: Union[Answer, AssayError], prefix: str) -> dict[str, Any]:
    if isinstance(answer, AssayError):
        return {prefix + "error": str(answer)}
    out: dict[str, Any] = {}
    if isinstance(answer, Decision):
        out[prefix + "choice"] = answer.choice
    elif isinstance(answer, ScoreAnswer):
        out[prefix + "score"] = answer.score
    out[prefix + "probability"] = answer.probability
    out[prefix + "confidence"] = answer.confidence
    out[prefix + "abstained"] = answer.abstained
    if not isinstance(answer, Decision) and not isinstance(answer, ScoreAnswer):
        return out  # yes or no: `probability` says it all
    for label, probability in answer.probabilities.items():
        out[f"{prefix}p.{label}"] = probability
    return out


def to_frame(answers: Iterable[Row], index: Any = None) -> pandas.DataFrame:
    """A row for each answer, or for each reply, of `map`.

    Columns: choice or score, probability, confidence, abstained, and p.NAME for each option. Of replies they begin with
    the question's id and a dot. An error's text is in the column `error`.
    """
    import pandas

    rows: list[dict[str, Any]] = []
    for answer in answers:
        if isinstance(answer, Mapping):
            row: dict[str, Any] = {}
            for name, one in answer.items():
                row.update(_columns(one, name + "."))
            rows.append(row)
        else:
            rows.append(_columns(answer, ""))
    return pandas.DataFrame(rows, index=index)
