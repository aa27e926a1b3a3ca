"""A worker of quickstudy: environments of Python behind a pair of pipes. bridge/src/message.rs describes the messages.

The files of this folder are one program, one after the other: pipes, batch, sources, loop. Python gets it by `-c`, so
that nothing is needed on disk and the user's folder is the first in which modules are looked for.
"""

import fcntl
import os
import signal
import sys

# Before any import: what is printed later, also by C code and by children, goes to standard error, and input() finds
# nothing. Copies made by dup are not inherited by programs that environments start.
# High numbers, since some close all the low ones.
REQUESTS, REPLIES = (fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 200) for number in (0, 1))
os.dup2(2, 1)
_nothing = os.open(os.devnull, os.O_RDONLY)
os.dup2(_nothing, 0)
os.close(_nothing)
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business

import json  # noqa: E402
import math  # noqa: E402
import select  # noqa: E402
import struct  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402


def _end_with(parent):
    """Ends this process when its parent ends, whatever an environment is doing."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    else:

        def watch():
            while os.getppid() == parent:
                time.sleep(1)
            os.kill(os.getpid(), signal.SIGKILL)

        threading.Thread(target=watch, daemon=True).start()
    if os.getppid() != parent:  # it ended before the line above
        os._exit(3)


_end_with(int(sys.argv[1]))

SPIN = 200e-6  # seconds of asking before sleeping: waking from sleep takes a step's time
os.set_blocking(REQUESTS, False)
_poll = select.poll()
_poll.register(REQUESTS, select.POLLIN)


class ParentGone(BaseException):
    """The parent has closed the pipe: there is nothing left to do."""


def _read_some(view):
    """Reads at least one byte into `view`."""
    until = 0.0
    while True:
        try:
            count = os.readv(REQUESTS, [view])
            if count == 0:
                raise ParentGone
            return count
        except BlockingIOError:
            pass
        now = time.perf_counter()
        if not until:
            until = now + SPIN
        elif now > until:
            _poll.poll()
            continue
        os.sched_yield()


class Requests:
    """The messages of the parent, read into one buffer that grows."""

    def __init__(self):
        self.buffer = memoryview(bytearray(1 << 16))

    def next(self):
        """The next message without its length; it is valid until the next call."""
        got = 0
        while got < 4:
            got += _read_some(self.buffer[got:])
        end = 4 + int.from_bytes(self.buffer[:4], "little")
        if end > len(self.buffer):
            larger = memoryview(bytearray(end))
            larger[:got] = self.buffer[:got]
            self.buffer = larger
        while got < end:
            got += _read_some(self.buffer[got:end])
        return self.buffer[4:end]


def write(view):
    """Writes all bytes of a message."""
    while len(view):
        view = view[os.write(REPLIES, view) :]


def reply(kind, payload=b""):
    """Sends a message of this kind."""
    write(memoryview(struct.pack("<IBxxx", 4 + len(payload), kind) + payload))


def described(error, number=None):
    """An error as the parent gets it. `number` is that of the environment which raised it."""
    try:
        text = str(error).strip() or "no message"
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-8))
    except BaseException:  # an exception that cannot be told
        text, trace = "an exception without a text", ""
    # JSON takes no halves of characters.
    text, trace = (part.encode("utf-8", "replace").decode() for part in (text, trace))
    module = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
    return {"type": type(error).__name__, "text": text[:2000], "trace": trace[-6000:], "env": number, "module": module}
