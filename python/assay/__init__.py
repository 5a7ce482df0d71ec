"""Decisions out of a language model, as numbers: the client of an Assay server.

    import assay

    answer = assay.decide("I was charged twice.", "What does the customer want?",
                          {"refund": "Wants money back", "info": "Asks how something works"})
    answer.choice, answer.probability, answer.probabilities, answer.confidence, answer.abstained

    assay.yes_no("The parcel arrived at three.", "Did the parcel arrive?")          # 0.97
    assay.score("It hums a little.", "How loud is it?", ["quiet", "audible", "loud"]).score  # 0.8

The server is ASSAY_BASE_URL's (default http://127.0.0.1:8080), the key ASSAY_API_KEY's. `Client` and `AsyncClient` hold
connections and settings of their own, `Server` starts the program that came with this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .answers import Answer, Decision, LessonUse, Model, Reply, ScoreAnswer, Usage, YesNoAnswer
    from .async_client import AsyncClient
    from .client import Client, ask, decide, score, yes_no
    from .errors import (
        AssayError,
        BadRequest,
        ConnectionFailed,
        DeadlineExceeded,
        InvalidReply,
        NotFound,
        Overloaded,
        RateLimited,
        ServerError,
        TooLong,
        Unauthorized,
    )
    from .images import Image
    from .lessons import Lessons
    from .program import binary
    from .questions import Choice, Json, Options, Question, Questions, Score, State, YesNo
    from .retries import Retry
    from .server import Server, serve
    from .tables import to_frame, to_numpy

# Where each name is. They are imported when they are first used, because `assay` on the command line passes through
# this file, too, and needs none of them.
_HOME = {
    "answers": ("Answer", "Decision", "LessonUse", "Model", "Reply", "ScoreAnswer", "Usage", "YesNoAnswer"),
    "async_client": ("AsyncClient",),
    "client": ("Client", "ask", "decide", "score", "yes_no"),
    "errors": ("AssayError", "BadRequest", "ConnectionFailed", "DeadlineExceeded", "InvalidReply", "NotFound",
               "Overloaded", "RateLimited", "ServerError", "TooLong", "Unauthorized"),
    "images": ("Image",),
    "lessons": ("Lessons",),
    "program": ("binary",),
    "questions": ("Choice", "Json", "Options", "Question", "Questions", "Score", "State", "YesNo"),
    "retries": ("Retry",),
    "server": ("Server", "serve"),
    "tables": ("to_frame", "to_numpy"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [  # noqa: F822
    "Answer", "AssayError", "AsyncClient", "BadRequest", "Choice", "Client", "ConnectionFailed", "DeadlineExceeded",
    "Decision", "Image", "InvalidReply", "Json", "LessonUse", "Lessons", "Model", "NotFound", "Options", "Overloaded",
    "Question", "Questions", "RateLimited", "Reply", "Retry", "Score", "ScoreAnswer", "Server", "ServerError", "State",
    "TooLong", "Unauthorized", "Usage", "YesNo", "YesNoAnswer", "ask", "binary", "decide", "score", "serve", "to_frame",
    "to_numpy", "yes_no",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("assay")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module("." + _MODULE_OF[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
