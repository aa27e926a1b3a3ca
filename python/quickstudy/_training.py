"""Training by the command line, whose rows of metrics are read as they are written."""

from __future__ import annotations

import json
import math
import operator
import os
import re
import signal
import subprocess
import tempfile
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from ._command import command, environments
from ._error import Error

# Seconds between two looks at the metrics, and those for which a process may go on after it was asked to stop.
_LOOK = 0.05
_PATIENCE = 30.0
# A name of Gymnasium's: CartPole-v1, ALE/Pong-v5, Pendulum-v1?g=5.0.
_GYMNASIUM = re.compile(r"[\w./-]+-v\d+(\?.*)?")
# How lines begin that tell of an error; others are progress. `last_words` in native-cli/src/studies/jobs/process.rs has
# the same.
_ERROR = re.compile(r"^(?:error: |fatal|memory allocation of |thread '.*panicked at )", re.MULTILINE)
# What names of folders have in place of signs that some file systems do not take, as `seeds_name` in
# native-cli/src/folder.rs has it.
_SIGNS = str.maketrans({**dict.fromkeys(":,/?&\\", "-"), **dict.fromkeys('="', "")})


def environment(name: str) -> str:
    """Give the name of an environment as the command line has it: ids of Gymnasium get `gymnasium:` in front."""
    if ":" in name or not _GYMNASIUM.fullmatch(name):
        return name
    return f"gymnasium:{name}"


def toml(value: Any) -> str:
    """Write a setting's value in TOML.

    Raises:
        Error: if it is none of bool, int, float, str and lists of them.
    """
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    raise Error(f"{value!r} is no value of a setting: these are bool, int, float, str and lists of them")


def _is_list(env: str) -> bool:
    """Tell whether the command line would read several environments.

    `list` in native-cli/src/studies/study/parts.rs does it the same way. What follows a comma may belong to a
    parameter.
    """
    parts, depth, quoted = [""], 0, False
    for letter in env:
        quoted ^= letter == '"'
        if not quoted:
            depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and not quoted and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    name = parts[0]
    for part in map(str.strip, parts[1:]):
        first, colon, _ = part.partition(":")
        is_parameter = re.match(r"[A-Za-z0-9_]+=", part) is not None
        is_environment = first in environments() or colon != "" and first in ("gymnasium", "metaworld")
        if not (is_parameter and ":" in name or part and "?" in name and not is_environment):
            return True
        name += f",{part}"
    return False


def _number(seed: Any) -> int:
    """Give a seed as a number.

    Raises:
        Error: if it is none, such as a list.
    """
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if number < 0 or isinstance(seed, bool):
        problem = f"seed is {seed!r}, expected a whole number from 0"
        raise Error(f"{problem}: this makes one run, and `quickstudy train --seed 0,1` makes several")
    return number


def _folders(algorithm: str, env: str, seed: int) -> list[Path]:
    """Make a new folder where the command line would; the last one of those that were made for it.

    Parameters are as they are given. The command line alone knows their order and their default values, which it leaves
    out.
    """
    base = f"{env.translate(_SIGNS)}-{algorithm.translate(_SIGNS)}-s{seed}"
    made = [] if Path("runs").exists() else [Path("runs")]
    number = 1
    while True:
        path = Path("runs", base if number == 1 else f"{base}-{number}")
        try:
            path.mkdir(parents=True)
            return [*made, path]
        except FileExistsError:
            if not Path("runs").is_dir():
                raise Error("`runs` is a file, and no folder; name another folder by `out`") from None
            number += 1
        except (OSError, ValueError) as error:  # the latter for a zero byte
            _remove_empty(made)
            problem = error.strerror if isinstance(error, OSError) else error
            raise Error(f"cannot make the folder {str(path)!r}: {problem}; name another one by `out`") from None


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders that were made for a run which has not begun."""
    for folder in reversed(folders):
        try:
            folder.rmdir()
        except OSError:  # something is there, or it is gone
            return


def _let_go() -> None:
    """Close the inputs of all trainings, in a copy of the process that has begun them."""
    for training in list(_HELD):
        training._input_closed()


class Training:
    """A run that trains in a process of its own. `quickstudy.train` makes it.

    Iterating gives a dict for each row of its metrics as soon as it is written, by the names of `quickstudy list
    metrics`; a metric without a value in a row is left out. A loop that is left early stops the run, as do `stop`, the
    end of a `with` block, forgetting the object, and the end of this process, however it ends. A run that was stopped
    has its last snapshot, and `quickstudy train --resume` goes on from it.

    Attributes:
        run: its folder.
    """

    run: Path

    def __init__(self, arguments: list[str], run: Path, made: list[Path]) -> None:
        """Start the process; `train` calls it. The folders `made` are its own, if it begins."""
        self.run = run
        self._made = made
        self._process: subprocess.Popen[bytes] | None = None
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._stopped = False
        # In a session of its own Ctrl-C does not reach it twice: the loop that it ends stops the run. Its input ends
        # with this process, also where that is killed, and it takes that for a Ctrl-C.
        try:
            self._process = subprocess.Popen(
                [*arguments, "--follow-input"],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=self._said,
                stderr=self._said,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # such as no memory, or a zero byte in an argument
            _remove_empty(self._made)
            raise Error(f"cannot start {arguments[0]}: {error}") from error
        _HELD.add(self)

    def __iter__(self) -> Iterator[dict[str, float]]:
        """Yield the rows from the first one on.

        Raises:
            Error: at the end, with the command line's own message, if training has failed.
        """
        try:
            yield from self._rows()
        finally:
            self.stop()
        self._check()

    def wait(self) -> Path:
        """Train to the end, and give the run's folder.

        Raises:
            Error: if training has failed.
        """
        for _ in self:
            pass
        return self.run

    def stop(self) -> None:
        """Stop the run, as Ctrl-C does: it saves what it has learned. If it has ended, nothing happens."""
        process = self._process
        if process is not None and process.poll() is None:
            self._stopped = True
            self._end(process)
        self._input_closed()
        _remove_empty(self._made)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        for _ in range(2):  # the second one stops it within an iteration
            try:
                if process.stdin is not None:
                    process.stdin.write(b"c")
            except OSError:  # it has ended meanwhile
                pass
            try:
                process.wait(_PATIENCE)
                return
            except subprocess.TimeoutExpired:
                pass
        process.kill()
        process.wait()

    def _input_closed(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def __enter__(self) -> Training:
        """Give itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the run."""
        self.stop()

    def __del__(self) -> None:
        """Stop the run, if the object is forgotten."""
        if getattr(self, "_process", None) is not None:
            self.stop()

    def __repr__(self) -> str:
        """Say where it is, and whether it goes on."""
        running = self._process is not None and self._process.poll() is None
        return f"<Training of {self.run}, {'running' if running else 'ended'}>"

    def _rows(self) -> Iterator[dict[str, float]]:
        path, place = self.run / "metrics.jsonl", 0
        while True:
            ended = self._process is None or self._process.poll() is not None
            lines = b""
            if path.exists():
                with path.open("rb") as file:
                    file.seek(place)
                    lines = file.read()
            whole = lines[: lines.rfind(b"\n") + 1]  # what follows is not all of a row yet
            place += len(whole)
            for line in whole.splitlines():
                yield json.loads(line)
            if ended:
                return
            if not whole:
                time.sleep(_LOOK)

    def _check(self) -> None:
        code = self._process.returncode if self._process else 0
        if code == 0 or self._stopped:
            return
        self._said.seek(0)
        said = self._said.read().decode(errors="replace")
        errors = list(_ERROR.finditer(said))
        message = said[errors[-1].start() :].removeprefix("error: ").strip() if errors else ""
        if code > 0 and message:
            raise Error(message)
        how = f"ended with exit code {code}" if code > 0 else f"was killed by {_signal(-code)}"
        raise Error(f"training {how}" + (f"; it said last: {message}" if message else ""))


_HELD: weakref.WeakSet[Training] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    # What multiprocessing forks would hold the inputs too, and trainings would not end with this process.
    os.register_at_fork(after_in_child=_let_go)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def train(
    algorithm: str,
    env: str,
    *,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    steps: int | None = None,
    device: str | None = None,
    threads: int | None = None,
    **settings: Any,
) -> Training:
    """Begin to train, by the command `quickstudy train`. Iterating over what is returned gives rows of metrics.

    Args:
        algorithm: its name, of `quickstudy list algorithms`.
        env: a built-in environment such as "cartpole" or "bandit:arms=10"; what else has a colon is passed on as it
            is, such as "gymnasium:module:Name-v0". A name like those of Gymnasium, "HalfCheetah-v5", gets
            "gymnasium:" in front.
        out: the run folder; by default a new one, runs/ENV-ALGORITHM-sSEED.
        seed: what names all random numbers.
        steps: environment steps; by default those of the preset.
        device: "cpu", "gpu", "gpu:1" or "auto".
        threads: threads of the CPU; by default as many as there are cores.
        settings: those of `quickstudy list settings ALGORITHM`, such as gamma=0.98 or hidden=[64, 64], and of runs,
            such as eval_every=10_000.

    Raises:
        Error: if there is no such program, or a value is of another kind. What else is wrong with the arguments is
            raised when the rows are read.
    """
    if not isinstance(algorithm, str) or "," in algorithm:
        raise Error(f"algorithm is {algorithm!r}, expected the name of one")
    if not isinstance(env, str) or _is_list(env):
        raise Error(f"env is {env!r}, expected the name of one")
    if not isinstance(out, (str, os.PathLike, type(None))):
        raise Error(f"out is {out!r}, expected a path")
    env, seed = environment(env), _number(seed)
    values = [f"{key}={toml(value)}" for key, value in settings.items()]
    program = command()
    made = _folders(algorithm, env, seed) if out is None else []
    run = made[-1] if out is None else Path(out)
    arguments = [program, "train", algorithm, "--env", env, "--seed", str(seed), "--out", str(run)]
    for flag, given in (("--steps", steps), ("--device", device), ("--threads", threads)):
        arguments += [] if given is None else [flag, str(given)]
    for value in values:
        arguments += ["--set", value]
    return Training(arguments, run, made)
