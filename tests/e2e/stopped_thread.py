"""Stops one thread of another process from outside, as a debugger does (Linux's ptrace): what hangs there, hangs."""

import contextlib
import ctypes
import os
import time

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
EVERY_KIND_OF_CHILD = 0x40000000  # __WALL: threads, too
SAMPLE_SECONDS = 0.1

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request, thread):
    if _libc.ptrace(request, thread, None, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _processor_time(process):
    """{thread: its ticks in user mode} of a process."""
    out = {}
    for thread in os.listdir(f"/proc/{process}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{process}/task/{thread}/stat", encoding="utf-8") as file:
            out[int(thread)] = int(file.read().rpartition(")")[2].split()[11])
    return out


def busiest(process):
    """The thread that computes most at this moment."""
    before = _processor_time(process)
    time.sleep(SAMPLE_SECONDS)
    after = _processor_time(process)
    return max(after, key=lambda thread: after[thread] - before.get(thread, 0))


@contextlib.contextmanager
def stopped(test, thread):
    """It stands still inside; the test is skipped where the machine does not let its children be traced."""
    try:
        _ptrace(SEIZE, thread)
    except OSError as error:
        test.skipTest(f"this machine lets nobody stop a thread (ptrace): {error}")
    _ptrace(INTERRUPT, thread)
    os.waitpid(thread, EVERY_KIND_OF_CHILD)
    try:
        yield
    finally:
        _ptrace(DETACH, thread)
