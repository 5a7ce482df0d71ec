"""When a request is tried again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

from .errors import AssayError


@dataclass(frozen=True)
class Retry:
    """Tried again are connection errors, 429, 503, 529 and other 5xx except 501 and 504, and nothing else.

    A decision changes nothing on the server, so asking twice does no harm. `Retry(tries=1)` never tries again.
    """

    tries: int = 5  # in all, the first one included
    total_seconds: float = 60  # no try begins later than this after the first
    wait_seconds: float = 0.25  # after the first try; doubled each time, half of it by chance
    wait_seconds_max: float = 8  # a longer wait only if the server asks for it and total_seconds allow it


class Attempts:
    """The tries of one request. For one thread."""

    def __init__(self, retry: Retry, timeout_ms: Optional[float], clock: Callable[[], float] = time.monotonic,
                 chance: Callable[[], float] = random.random) -> None:
        self._retry = retry
        self._clock = clock
        self._chance = chance
        self._begin = clock()
        self._tries = 0
        self._timeout_seconds = None if timeout_ms is None else timeout_ms / 1e3

    def seconds_left(self) -> Optional[float]:
        """Until the deadline, not below 0; None: there is none."""
        if self._timeout_seconds is None:
            return None
        return max(0.0, self._timeout_seconds - (self._clock() - self._begin))

    def wait_after(self, error: AssayError) -> float:
        """Seconds to wait before the next try. Raises `error` when there is to be none."""
        self._tries += 1
        if not error.retryable or self._tries >= self._retry.tries:
            raise error
        if error.retry_after_seconds is not None:
            # Not earlier than asked, and not all clients at the same moment.
            wait = error.retry_after_seconds * (1 + 0.1 * self._chance())
        else:
            wait = min(self._retry.wait_seconds_max, self._retry.wait_seconds * 2 ** (self._tries - 1))
            wait *= 0.5 + 0.5 * self._chance()
        passed = self._clock() - self._begin
        left = self.seconds_left()
        if passed + wait > self._retry.total_seconds or (left is not None and wait >= left):
            raise error
        return wait
