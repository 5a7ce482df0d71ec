"""The program as a server of one's own: for notebooks, tests and scripts."""

from __future__ import annotations

import atexit
import collections
import os
import re
import subprocess
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Optional, Union

from .async_client import AsyncClient
from .client import Client
from .errors import AssayError
from .program import binary

PathLike = Union[str, "os.PathLike[str]"]
_READY = re.compile(r"ready on (https?)://(\S+):(\d+)")


class StartFailed(AssayError):
    """The program ended, or was not ready in time; the text has its last lines."""


class Server:
    """`assay serve` on a free port of this machine, ready when the constructor returns.

        with assay.Server("model.gguf") as server:
            server.client.decide(...)

    model: a GGUF file; None: ASSAY_MODEL. flags: more of `assay serve --help`, such as "--threads", "4".
    start_seconds: until the model has to be loaded; a first start checks the model, which takes a while.
    Ends with SIGTERM: accepted requests are answered. A server that is not stopped is stopped when Python ends.
    """

    def __init__(self, model: Optional[PathLike] = None, *flags: str, api_key: Optional[str] = None, port: int = 0,
                 start_seconds: float = 600.0, program: Optional[PathLike] = None) -> None:
        named = os.fspath(model) if model is not None else os.environ.get("ASSAY_MODEL")
        if not named:
            raise ValueError("model is missing: name a GGUF file, or set ASSAY_MODEL")
        command = [os.fspath(program) if program is not None else binary(), "serve", named, "--port", str(port),
                   "--host", "127.0.0.1", *flags]
        ours = ("ASSAY_MODEL", "ASSAY_API_KEY", "ASSAY_BINARY", "ASSAY_BASE_URL")
        environment = {name: value for name, value in os.environ.items() if name not in ours}
        if api_key is not None:
            environment["ASSAY_API_KEY"] = api_key  # not on the command line, where other users see it
        self._api_key = api_key
        self._lines: collections.deque[str] = collections.deque(maxlen=200)
        self._settled = threading.Event()  # ready, or ended
        self._client: Optional[Client] = None
        self.base_url = ""
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.PIPE, text=True, errors="replace", env=environment)
        atexit.register(self.stop)
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        try:
            in_time = self._settled.wait(start_seconds)
        except BaseException:
            self.stop()
            raise
        if not self.base_url:
            self.stop(grace_seconds=5)
            what = f"ended with {self._process.returncode}" if in_time else f"was not ready in {start_seconds} s"
            raise StartFailed(f"assay serve {what}:\n" + "".join(self.log[-20:]))

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._lines.append(line)
            ready = _READY.search(line)
            if ready:
                self.base_url = f"{ready.group(1)}://{ready.group(2)}:{ready.group(3)}"
                self._settled.set()
        self._settled.set()

    @property
    def log(self) -> Sequence[str]:
        """The last lines that the program wrote."""
        return list(self._lines)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def client(self) -> Client:
        """A client of this server; closed with it."""
        if self._client is None:
            self._client = self.new_client()
        return self._client

    def new_client(self, **more: Any) -> Client:
        """`Client` with the address and the key filled in."""
        return Client(self.base_url, self._api_key, **more)

    def new_async_client(self, **more: Any) -> AsyncClient:
        """`AsyncClient` with the address and the key filled in."""
        return AsyncClient(self.base_url, self._api_key, **more)

    def stop(self, grace_seconds: float = 60.0) -> int:
        """Ends it, in the friendly way if that takes no longer than this, and gives its exit code. Twice is fine."""
        atexit.unregister(self.stop)
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._process.poll() is None:
            self._process.terminate()
        try:
            code = self._process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._reader.join(10)
        if self._process.stderr is not None:
            self._process.stderr.close()
        return code

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.stop()


def serve(model: Optional[PathLike] = None, *flags: str, **more: Any) -> Server:
    """`Server(...)`, as a verb: `with assay.serve("model.gguf") as server:`."""
    return Server(model, *flags, **more)
