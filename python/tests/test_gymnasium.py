"""Runs in environments of Gymnasium, by the Python that has the package."""

from __future__ import annotations

from pathlib import Path

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
SMALL = {"envs": 4, "horizon": 64, "hidden": [8], "minibatches": 2, "learning_rate": 0.003}


def test_a_run_on_a_registered_environment_acts_there() -> None:
    rows = list(quickstudy.train("ppo", "CartPole-v1", steps=1024, out="cartpole", **SMALL))
    assert rows[-1]["time/env_steps"] == 1024
    policy = quickstudy.load("cartpole")
    assert policy.env == "gymnasium:CartPole-v1" and policy.space == quickstudy.Choices(2)
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
    assert policy.space == quickstudy.ManyChoices((2, 3))
    assert np.asarray(policy.act([0.9, 0.9])).tolist() == [1, 2]
    assert np.asarray(policy.act([-0.9, -0.9])).tolist() == [0, 0]
    models.difference(quickstudy._load.snapshot_of(run.run, last=False), [], 1e-5)


def test_unknown_environments_are_gymnasiums_own_errors() -> None:
    with pytest.raises(quickstudy.Error, match="Did you mean: `CartPole`"):
        quickstudy.train("ppo", "CartPol-v1", out="unknown").wait()
