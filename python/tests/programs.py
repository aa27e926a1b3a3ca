"""The program of docs/onnx.md, by which tests play models."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from quickstudy import _command

PAGE = Path(os.environ["QUICKSTUDY_SNAPSHOTS"]).parents[2] / "docs/onnx.md"


def exported(run: str | Path) -> Path:
    """Write a policy as the model that the program reads."""
    command = [_command.command(), "export", str(run), "-o", "policy.onnx", "--force"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path("policy.onnx")


def program(model: Path) -> dict[str, Any]:
    """Give the names of the page's program in Python, which has read a model."""
    assert model == Path("policy.onnx")
    [text] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(text, names)
    return names
