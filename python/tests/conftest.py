"""Parts that tests share: the program that plays snapshots, and the differences that they saw."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Largest differences between actions, by the run that they are of.
DIFFERENCES: dict[str, str] = {}


def played(*arguments: str | Path) -> list[Any]:
    """Give the lines of `actions-under-test`, which says how the command line plays."""
    program = os.environ["QUICKSTUDY_ACTIONS"]
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def golden() -> list[Path]:
    """Give the policies of the repository's snapshots, by which formats are held to their promise."""
    return sorted(Path(os.environ["QUICKSTUDY_SNAPSHOTS"]).glob("format-[234]/*/policy.safetensors"))


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what the comparisons saw."""
    for name, difference in DIFFERENCES.items():
        terminalreporter.write_line(f"{name:60} {difference}")
