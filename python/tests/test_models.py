"""The program of docs/onnx.md, and what the command line says of models."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import models
import numpy as np
import pytest

import quickstudy
from quickstudy import _training

SNAPSHOTS = Path(os.environ["QUICKSTUDY_SNAPSHOTS"])
PAGE = SNAPSHOTS.parents[2] / "docs/onnx.md"


@pytest.mark.parametrize("name", ["ppo", "dqn", "sac", "ars", "ppo-gru", "a2c-lstm"])
def test_the_program_of_the_page_acts_as_the_policy_does(name: str) -> None:
    snapshot = SNAPSHOTS / "format-2" / name / "policy.safetensors"
    command = [_training.command(), "export", str(snapshot), "-o", "policy.onnx"]
    assert subprocess.run(command, check=False).returncode == 0
    [program] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    policy, rng = quickstudy.load(snapshot), np.random.default_rng(2)
    for _ in range(5):
        seen = rng.normal(size=policy.observations)
        np.testing.assert_allclose(names["act"](seen), policy.act(seen), atol=1e-5)


def test_inputs_and_outputs_of_the_page_are_those_of_models() -> None:
    page = PAGE.read_text()
    for name in ["obs", "memory_in", *models.BESIDE, "action", "logits", "values", "memory_out"]:
        assert f"| `{name}` |" in page, name
