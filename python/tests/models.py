"""Policies as ONNX models, in ONNX Runtime, beside the same ones in NumPy."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

import quickstudy
from quickstudy import _command

# What models read beside observations and a memory.
BESIDE = {"previous_action", "previous_reward", "previous_end", "z"}


class Model:
    """The policy of a snapshot as a model, which is played as docs/onnx.md says."""

    def __init__(self, snapshot: Path) -> None:
        target = Path("policy.onnx")
        command = [_command.command(), "export", str(snapshot), "-o", str(target), "--force"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        onnx.checker.check_model(str(target), full_check=True)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(target), options, providers=["CPUExecutionProvider"])
        self.properties = self.session.get_modelmeta().custom_metadata_map
        self.config = json.loads(self.properties["config"])
        self.widths = {given.name: given.shape[1] for given in self.session.get_inputs()}
        assert all(given.shape[0] == "batch" for given in self.session.get_inputs() + self.session.get_outputs())
        self.outputs = [given.name for given in self.session.get_outputs()]
        start = json.loads(self.properties.get("memory_start", "0.0"))
        self.start = np.full(self.widths.get("memory_in", 0), start, np.float32)
        self.state: dict[str, Any] = {}

    def begin(self, rows: int) -> None:
        """Begin episodes, of policies that adapt trials."""
        self.state = {name: np.zeros((rows, width), np.float32) for name, width in self.widths.items()}
        if "memory_in" in self.state:
            self.state["memory_in"][:] = self.start

    def act(self, obs: Any, **beside: Any) -> NDArray[Any]:
        """Choose actions for observations [batch, O]."""
        self.state |= {name: np.asarray(x, np.float32) for name, x in {"obs": obs, **beside}.items()}
        values = dict(zip(self.outputs, self.session.run(None, self.state), strict=True))
        if "memory_out" in values:
            self.state["memory_in"] = values["memory_out"]
        self.action: NDArray[Any] = values["action"]
        self.scores = values.get("logits", values.get("values"))
        return self.action

    def observe(self, reward: Any, terminated: Any, truncated: Any) -> None:
        """Keep what came of the last actions, [batch] each."""
        ended = (terminated | truncated)[:, None]
        if "previous_action" not in self.state:
            if "memory_in" in self.state:
                self.state["memory_in"] = np.where(ended, self.start, self.state["memory_in"])
            return
        shown = self.action
        if shown.dtype == np.int64:
            choices = np.arange(self.widths["previous_action"])
            shown = (choices == shown[:, None]).astype(np.float32)
        end = ended if self.config["show_time_limit"] else terminated[:, None]
        previous = {"previous_action": shown, "previous_reward": np.reshape(reward, (-1, 1)), "previous_end": end}
        for name, x in previous.items():
            kept = x if self.config["carry_over"] else np.where(ended, 0.0, x)
            self.state[name] = kept.astype(np.float32)


def difference(snapshot: Path, steps: list[Any], tolerance: float) -> float:
    """Compare a model with recorded steps, and with the policy in NumPy on random observations: the largest."""
    model, policy = Model(snapshot), quickstudy.load(snapshot, seed=3)
    choices = not isinstance(policy.space, quickstudy.Box)
    assert model.widths["obs"] == policy.observations
    assert ("memory_in" in model.widths) == (policy._cell is not None) == ("memory_out" in model.outputs)
    assert set(model.widths) - {"obs", "memory_in"} <= BESIDE
    assert model.properties["algorithm"] == policy.algorithm and model.properties["environment"] == policy.env
    largest = 0.0

    def compare(actions: NDArray[Any], expected: Any) -> None:
        nonlocal largest
        assert actions.dtype == (np.int64 if choices else np.float32)
        wanted = np.asarray(expected)
        assert actions.shape == wanted.shape
        if choices:
            np.testing.assert_array_equal(actions, wanted)
        else:
            largest = max(largest, float(np.abs(actions - wanted).max()))

    # Two networks may make the same choices: so what choices are made by is compared as well.
    trunk, outputs = policy._trunk, []

    def recorded(x: Any) -> Any:
        outputs.append(trunk(x))
        return outputs[-1]

    policy._trunk = recorded

    def compare_scores() -> None:
        assert (model.scores is not None) == choices
        if model.scores is None:
            return
        wanted, count = outputs[-1][0], model.scores.shape[1]
        if wanted.shape[1] > count:  # of a dueling network
            wanted = wanted[:, count:] + wanted[:, :count] - wanted[:, :count].mean(axis=1, keepdims=True)
        off = np.abs(model.scores - wanted).max() / max(1.0, np.abs(wanted).max())
        assert off <= tolerance, off

    inferred = isinstance(policy, quickstudy.ContextPolicy)
    if not inferred:
        model.begin(1)
        for step in steps:
            played = np.array(step["action"])[None]
            compare(model.act([step["obs"]]), played[:, 0].astype(np.int64) if choices else played)
            model.observe(*(np.array([step[key]]) for key in ("reward", "terminated", "truncated")))
    rng, rows = np.random.default_rng(7), 6
    model.begin(rows)
    for _ in range(8):
        obs = (2.0 * rng.standard_normal((rows, policy.observations))).astype(np.float32)
        if policy._normaliser:
            obs[-1] *= 30.0  # beyond its limit; without one, layers would saturate, and choices be equally good
        expected = policy.act(obs)
        beside = {"z": policy.z} if isinstance(policy, quickstudy.ContextPolicy) else {}
        compare(model.act(obs, **beside), expected)
        compare_scores()
        reward = rng.standard_normal(rows).astype(np.float32)
        terminated, truncated = rng.random((2, rows)) < 0.2
        policy.observe(reward, terminated, truncated, next_obs=obs[::-1])
        model.observe(reward, terminated, truncated)
    assert largest <= tolerance, largest
    return largest
