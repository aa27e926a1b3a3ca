"""The program of docs/onnx.md, and what the command line says of models."""

from __future__ import annotations

import os
from pathlib import Path

import gymnasium
import models
import numpy as np
import pytest
from programs import PAGE, exported, program

import quickstudy

SNAPSHOTS = Path(os.environ["QUICKSTUDY_SNAPSHOTS"])
RECALLS = '''
import gymnasium
import numpy as np


class Recalls(gymnasium.Env):
    """Shows a bit, -1 or 1, then nothing. The fifth observation asks for it, and pays 1 if the action is the bit."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def seen(self):
        bit = 2.0 * self.bit - 1.0 if self.steps == 0 else 0.0
        return np.array([bit, self.steps == 4], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.bit, self.steps = int(self.np_random.integers(2)), 0
        return self.seen(), {}

    def step(self, action):
        asked = self.steps == 4
        self.steps += 1
        return self.seen(), float(asked and action == self.bit), asked, False, {}


gymnasium.register("Recalls-v0", Recalls, max_episode_steps=10)
'''


@pytest.mark.parametrize("name", ["ppo", "dqn", "sac", "ars", "ppo-gru", "a2c-lstm"])
def test_the_program_of_the_page_acts_as_the_policy_does(name: str) -> None:
    snapshot = SNAPSHOTS / "format-2" / name / "policy.safetensors"
    names = program(exported(snapshot))
    policy, rng = quickstudy.load(snapshot), np.random.default_rng(2)
    for step in range(10):
        if step % 5 == 0:
            names["reset"]()
            policy.reset()
        seen = rng.normal(size=policy.observations)
        np.testing.assert_allclose(names["act"](seen), policy.act(seen), atol=1e-5)


def test_the_program_of_the_page_begins_a_memory_where_the_policy_does() -> None:
    settings = {"cell": "lstm", "learned_start": True, "envs": 2, "hidden": [8], "eval_every": 0}
    quickstudy.train("a2c", "pendulum", steps=256, out="run", **settings).wait()
    names, policy = program(exported("run")), quickstudy.load("run")
    start = np.asarray(policy._cell.initial(1)) if policy._cell else np.zeros((1, 1))
    assert (start != 0).any()
    np.testing.assert_allclose(names["given"]["memory_in"], start, atol=1e-6)
    np.testing.assert_allclose(names["act"]([0.1, 0.2, 0.3]), policy.act([0.1, 0.2, 0.3]), atol=1e-6)


def test_a_policy_that_remembers_knows_nothing_of_other_episodes() -> None:
    Path("recalls.py").write_text(RECALLS)
    settings = {"cell": "lstm", "units": 16, "horizon": 64, "envs": 8, "minibatches": 4, "epochs": 6, "eval_every": 0}
    env = "gymnasium:recalls:Recalls-v0"
    quickstudy.train("ppo", env, steps=30_000, out="run", learning_rate=0.003, **settings).wait()
    names, policy = program(exported("run")), quickstudy.load("run")
    exec(RECALLS, {})
    played = gymnasium.make("Recalls-v0")
    by_hand, observing = quickstudy.load("run"), quickstudy.load("run")
    ways = {
        "the page": (names["reset"], names["act"], lambda *outcome: None),
        "reset": (by_hand.reset, by_hand.act, lambda *outcome: None),
        "observe": (lambda: None, observing.act, observing.observe),
        "neither": (lambda: None, policy.act, lambda *outcome: None),
    }
    means = {}
    for way, (begin, act, observe) in ways.items():
        total = 0.0
        for seed in range(300):
            seen, _ = played.reset(seed=seed)
            begin()
            ended = False
            while not ended:
                seen, reward, terminated, truncated, _ = played.step(act(seen))
                observe(reward, terminated, truncated)
                total, ended = total + float(reward), terminated or truncated
        means[way] = total / 300
    assert (means["the page"], means["reset"], means["observe"]) == (1.0, 1.0, 1.0), means
    assert means["neither"] < 0.8, means  # so that the others say something


def test_inputs_and_outputs_of_the_page_are_those_of_models() -> None:
    page = PAGE.read_text()
    for name in ["obs", "memory_in", *models.BESIDE, "action", "logits", "values", "memory_out"]:
        assert f"| `{name}` |" in page, name
