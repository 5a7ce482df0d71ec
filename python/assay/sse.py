"""Server-sent events out of bytes, as they arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Event:
    name: str
    data: str


class EventParser:
    """Lines end with LF, CR LF or CR, and with nothing else: JSON may hold U+2028 and its like."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that end in this chunk."""
        text = self._rest + chunk
        # A CR at the end may be the first half of CR LF: it waits for the next byte.
        held = b"\r" if text.endswith(b"\r") else b""
        text = text[: len(text) - len(held)]
        *lines, self._rest = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest += held
        events = []
        for line in lines:
            event = self._take(line)
            if event is not None:
                events.append(event)
        return events

    def _take(self, line: bytes) -> Optional[Event]:
        if not line:
            return self._finish()
        field, _, value = line.decode("utf-8", "replace").partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        return None  # a comment, an id, or a field that nobody knows

    def _finish(self) -> Optional[Event]:
        event = Event(self._name or "message", "\n".join(self._data)) if self._data else None
        self._name, self._data = "", []
        return event
