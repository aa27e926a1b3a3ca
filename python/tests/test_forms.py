"""Actions in the form that environments of Gymnasium take: where they begin, their shape and their type."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from programs import exported, program
from rewriting import rewrite

import quickstudy

ENVIRONMENTS = '''
import gymnasium
import numpy as np
from gymnasium import spaces

SPACES = {
    "choice": spaces.Discrete(3, start=-1),
    "choices": spaces.MultiDiscrete([2, 3], start=np.array([5, -1])),
    "narrow": spaces.MultiDiscrete([2, 3], dtype=np.int32),
    "table": spaces.MultiDiscrete(np.array([[2, 3], [4, 5]]), start=np.array([[0, 1], [2, 3]])),
    "bits": spaces.MultiBinary((2, 2)),
    "vector": spaces.Box(-1, 1, (3,), np.float64),
    "square": spaces.Box(-1, 1, (2, 2), np.float32),
    "number": spaces.Box(-1, 1, (), np.float32),
    "half": spaces.Box(-1, 1, (1, 2), np.float16),
    "bytes": spaces.Box(0, 255, (2, 1), np.uint8),
}


class Within(gymnasium.Env):
    """Refuses actions that are not in its space, in type and shape."""

    observation_space = spaces.Box(-1, 1, (2,), np.float32)

    def __init__(self, action):
        self.action_space = SPACES[action]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), 0.0, False, False, {}


class Repeats(gymnasium.Env):
    """Shows -1, 0 or 1, and gives 1 for the same number as the action, in each of ten steps."""

    observation_space, action_space = spaces.Box(-1, 1, (1,), np.float32), SPACES["choice"]

    def seen(self):
        self.wanted = int(self.np_random.integers(-1, 2))
        return np.array([self.wanted], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.seen(), {}

    def step(self, action):
        self.steps += 1
        reward = float(action == self.wanted)
        return self.seen(), reward, self.steps == 10, False, {}


gymnasium.register("Within-v0", Within, max_episode_steps=20)
gymnasium.register("Repeats-v0", Repeats, max_episode_steps=20)
'''
SMALL = {"envs": 4, "horizon": 16, "hidden": [8], "minibatches": 2}
FORMS = ["choice", "choices", "narrow", "table", "bits", "vector", "square", "number", "half", "bytes"]


@pytest.fixture(autouse=True)
def _environments(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("forms.py").write_text(ENVIRONMENTS)
    monkeypatch.syspath_prepend(".")


def header(run: str) -> Any:
    return quickstudy._load.Snapshot(Path(run) / "last.safetensors").header


@pytest.mark.parametrize("action", FORMS)
def test_actions_are_in_the_space_of_their_environment(action: str) -> None:
    env = f"gymnasium:forms:Within-v0?action={action}"
    quickstudy.train("ppo", env, steps=64, out="run", eval_every=0, **SMALL).wait()
    space: Any = gymnasium.make("forms:Within-v0", action=action).action_space
    act = program(exported("run"))["act"]
    for policy in (quickstudy.load("run"), quickstudy.load("run", space=space)):
        for obs in 20.0 * np.random.default_rng(1).standard_normal((20, 2)):
            for deterministic in (True, False):
                assert space.contains(policy.act(obs, deterministic))
            expected, found = policy.act(obs), act(obs)
            assert space.contains(found)
            np.testing.assert_allclose(found, expected, atol=1e-2 if action == "half" else 1e-5)
        several = np.asarray(policy.act(np.ones((3, 2))))
        assert several.shape == (3, *space.shape)
        assert all(space.contains(several[row, ...]) for row in range(3))


def test_a_policy_of_shifted_choices_plays_what_it_has_learned() -> None:
    settings = {"envs": 4, "horizon": 64, "learning_rate": 0.003, "eval_every": 20_000}
    quickstudy.train("ppo", "gymnasium:forms:Repeats-v0", steps=20_000, out="run", **settings).wait()
    env = gymnasium.make("forms:Repeats-v0")
    policy, act = quickstudy.load("run"), program(exported("run"))["act"]
    assert policy.space == quickstudy.Discrete(3, start=-1)
    for acting in (policy.act, act):
        total = 0.0
        for seed in range(20):
            obs, _ = env.reset(seed=seed)
            ended = False
            while not ended:
                obs, reward, terminated, truncated, _ = env.step(acting(obs))
                total, ended = total + float(reward), terminated or truncated
        assert total / 20 == 10.0
        assert [acting(np.array([x], np.float32)) for x in (-1.0, 0.0, 1.0)] == [-1, 0, 1]
    # Files of older versions do not have it, and a given space says it.
    spec = header("run")["spec"]
    assert spec.pop("action_form") == {"start": [-1]}
    rewrite(Path("run/best.safetensors"), Path("old.safetensors"), lambda tensors: None, spec=spec)
    old, given = quickstudy.load("old.safetensors"), quickstudy.load("old.safetensors", space=env.action_space)
    assert [old.act([1.0]), given.act([1.0])] == [2, 1]


def test_a_space_that_contradicts_the_file_is_refused() -> None:
    spaces = gymnasium.spaces
    for action, others in {
        "choice": [
            spaces.Discrete(3),
            spaces.Discrete(3, start=1),
            spaces.Discrete(4, start=-1),
            quickstudy.Discrete(3),
        ],
        "choices": [spaces.MultiDiscrete([2, 3]), spaces.MultiDiscrete([3, 2], start=np.array([5, -1]))],
        "bits": [spaces.MultiBinary(4), spaces.MultiBinary((4, 1))],
        "vector": [spaces.Box(-1, 2, (3,)), spaces.Box(-1, 1, (2,)), spaces.Discrete(3)],
        "square": [spaces.Box(-1, 1, (4,)), spaces.Box(-1, 1, ())],
        "bytes": [spaces.Box(0, 255, (2, 1), np.float32)],
    }.items():
        env = f"gymnasium:forms:Within-v0?action={action}"
        quickstudy.train("ppo", env, steps=64, out=action, eval_every=0, **SMALL).wait()
        for other in others:
            with pytest.raises(quickstudy.Error) as error:
                quickstudy.load(action, space=other)
            for part in (str(quickstudy.load(action).space), str(other), env):
                assert part in str(error.value)
    with pytest.raises(quickstudy.Error, match=re.escape("acts by Discrete(n=2, start=0), and this is Discrete(3)")):
        quickstudy.train("ppo", "cartpole", steps=64, out="cartpole", eval_every=0, **SMALL).wait()
        quickstudy.load("cartpole", space=spaces.Discrete(3))
    # Environments without a form have no word of one in their files.
    assert "action_form" not in json.dumps(header("vector")) + json.dumps(header("cartpole"))
