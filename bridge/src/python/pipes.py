"""A worker of quickstudy: environments of Python behind a pair of pipes. bridge/src/message.rs describes the messages.

The files of this folder are one program, one after the other: pipes, batch, observation, sources, loop. Python gets it
by its input, from a line of `-c`, so that nothing is needed on disk, the user's folder is the first in which modules
are looked for, and lists of processes stay short.
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
import time  # noqa: E402
import traceback  # noqa: E402


def end_with(parent):
    """Has the kernel end this process with the thread that started it."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    except (ImportError, OSError, AttributeError):  # Linux alone has it
        return
    if os.getppid() != parent:  # it ended before that
        os._exit(3)


if not os.path.exists("/bin/sh"):  # nobody else would: bridge/src/group.rs
    end_with(int(sys.argv[2]))

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


PROCESS = os.getpid()


def write(view):
    """Writes all bytes of a message."""
    if os.getpid() != PROCESS:  # a copy, which an environment has forked and has let go on: only one may answer
        os._exit(0)
    while len(view):
        view = view[os.write(REPLIES, view) :]


def reply(kind, payload=b""):
    """Sends a message of this kind."""
    write(memoryview(struct.pack("<IBxxx", 4 + len(payload), kind) + payload))


def place(error):
    """The last line of a traceback that is the user's, or else of a package; None where there is none.

    Lines of Gymnasium, of NumPy and of Python itself say nothing of what is to be changed.
    """
    library = os.path.dirname(os.__file__) + os.sep
    used = [
        os.path.dirname(sys.modules[name].__file__) + os.sep for name in ("gymnasium", "numpy") if name in sys.modules
    ]

    def is_package(path):
        return any(f"{os.sep}{folder}{os.sep}" in path for folder in ("site-packages", "dist-packages"))

    def is_known(path):
        return (
            path.startswith("<") or any(map(path.startswith, used)) or path.startswith(library) and not is_package(path)
        )

    known = set()
    while error is not None and id(error) not in known:
        known.add(id(error))
        frames = traceback.extract_tb(error.__traceback__)
        lines = [(f.filename, f"{f.filename}, line {f.lineno}, in {f.name}: {f.line}") for f in frames]
        if isinstance(error, SyntaxError) and error.filename:
            lines.append((error.filename, f"{error.filename}, line {error.lineno}: {(error.text or '').strip()}"))
        lines = [(path, line) for path, line in lines if not is_known(path)]
        if lines:
            return ([line for path, line in lines if not is_package(path)] or [lines[-1][1]])[-1]
        error = error.__cause__ or error.__context__
    return None


def described(error, number=None):
    """An error as the parent gets it. `number` is that of the environment which raised it."""
    try:
        text = str(error).strip() or "no message"
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-8))
    except BaseException:  # an exception that cannot be told
        text, trace = "an exception without a text", ""
    line = optional(lambda: place(error))
    # JSON takes no halves of characters.
    text, trace, line = (part and part.encode("utf-8", "replace").decode() for part in (text, trace, line))
    module = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
    return {
        "type": type(error).__name__,
        "text": text[:2000],
        "trace": trace[-6000:],
        "place": line and line[:1000],
        "env": number,
        "module": module,
    }
