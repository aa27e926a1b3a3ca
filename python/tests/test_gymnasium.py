"""Runs in environments of Gymnasium, by the Python that has the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import models
import numpy as np
import pytest

import quickstudy

OWN = '''
import gymnasium
import numpy as np


class Gears(gymnasium.Env):
    """Wants two choices that follow from two numbers."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.MultiDiscrete([2, 3])

    def see(self):
        self.seen = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self.seen

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.see(), {}

    def step(self, action):
        wanted = [self.seen[0] > 0, int(self.seen[1] > -0.3) + int(self.seen[1] > 0.3)]
        reward = float(sum(action == np.array(wanted, int)))
        return self.see(), reward, False, False, {}


gymnasium.register("Gears-v0", Gears, max_episode_steps=20)
'''
BOXES = """
import gymnasium
import numpy as np
from gymnasium.spaces import Box

BOXES = {
    "tenth": Box(-0.1, 0.1, (1,), np.float64),
    "half": Box(-0.1, 0.1, (1,), np.float16),
    "few": Box(-2, 2, (2,), np.int64),
    "byte": Box(0, 255, (1,), np.uint8),
    "large": Box(-(2**63), 2**63 - 1, (1,), np.int64),
}


class Within(gymnasium.Env):
    observation_space = Box(-1, 1, (2,), np.float32)

    def __init__(self, action):
        self.action_space = BOXES[action]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), 0.0, False, False, {}


gymnasium.register("Within-v0", Within, max_episode_steps=20)
"""
SMALL = {"envs": 4, "horizon": 64, "hidden": [8], "minibatches": 2, "learning_rate": 0.003}


def test_a_run_on_a_registered_environment_acts_there() -> None:
    rows = list(quickstudy.train("ppo", "CartPole-v1", steps=1024, out="cartpole", **SMALL))
    assert rows[-1]["time/env_steps"] == 1024
    policy = quickstudy.load("cartpole")
    assert policy.env == "gymnasium:CartPole-v1" and policy.space == quickstudy.Discrete(2)
    env = gymnasium.make("CartPole-v1")
    seen, _ = env.reset(seed=1)
    for _ in range(5):
        action = policy.act(seen)
        assert env.action_space.contains(action)
        seen, *_ = env.step(action)


def test_an_environment_of_ones_own_is_named_by_its_module() -> None:
    Path("gears.py").write_text(OWN)
    run = quickstudy.train("ppo", "gymnasium:gears:Gears-v0", steps=20_000, out="gears", **SMALL)
    run.wait()
    policy = quickstudy.load(run.run)
    assert policy.space == quickstudy.MultiDiscrete((2, 3))
    assert np.asarray(policy.act([0.9, 0.9])).tolist() == [1, 2]
    assert np.asarray(policy.act([-0.9, -0.9])).tolist() == [0, 0]
    models.difference(quickstudy._load.snapshot_of(run.run, last=False), [], 1e-5)


def test_unknown_environments_are_gymnasiums_own_errors() -> None:
    with pytest.raises(quickstudy.Error, match="Did you mean: `CartPole`"):
        quickstudy.train("ppo", "CartPol-v1", out="unknown").wait()


@pytest.mark.parametrize("action", ["tenth", "half", "few", "byte", "large"])
@pytest.mark.parametrize("algorithm", ["ppo", "ppo-scaled", "sac"])
def test_actions_are_in_boxes_of_each_type(action: str, algorithm: str) -> None:
    Path("boxes.py").write_text(BOXES)
    env, name = f"gymnasium:boxes:Within-v0?action={action}", algorithm.split("-")[0]
    settings = {"learning_starts": 100, "hidden": [8]} if name == "sac" else SMALL | {"log_std_init": 1.0}
    if algorithm == "ppo-scaled":
        settings["scale_actions"] = True
    run = quickstudy.train(name, env, steps=300, out="run", eval_every=0, **settings)
    run.wait()
    scope: dict[str, Any] = {}
    exec(BOXES.replace("gymnasium.register", "#"), scope)
    space = scope["BOXES"][action]
    given, alone = quickstudy.load("run", space=space), quickstudy.load("run")
    model = models.Model(Path("run"))
    whole = space.dtype.kind in "iu"
    assert ("whole" in json.loads(model.properties["actions"])) == whole
    for obs in 20.0 * np.random.default_rng(1).standard_normal((50, 2)):
        for deterministic in (True, False):
            assert space.contains(given.act(obs, deterministic))
            assert space.contains(alone.act(obs, deterministic))
        expected, found = alone.act(obs), model.act([obs])[0]
        np.testing.assert_allclose(found, expected, rtol=1e-3 if action == "half" else 1e-5, atol=1e-6)
        assert ((found >= space.low) & (found <= space.high)).all()
