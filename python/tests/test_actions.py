"""Actions are those of the command line, for every kind of policy that it saves, in NumPy and as an ONNX model."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import models
import numpy as np
import pytest
from conftest import DIFFERENCES, golden, played
from rewriting import Tensors, rewrite

import quickstudy

TOLERANCE = 1e-5

# Each algorithm by the smallest settings, and then other kinds of policies.
ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {name: (env, small) for name, env, small in played("small")}
MORE: list[tuple[str, str, dict[str, Any]]] = [
    ("ppo", "pendulum", {"normalise_observations": True}),
    ("ppo", "pendulum", {"sde": True, "normalise_observations": True, "activation": "relu", "hidden": [8, 4]}),
    ("ppo", "mountain-car-continuous", {"sde": False, "min_std": 0.1, "log_std_init": 0.5}),
    ("ppo", "pendulum", {"scale_actions": True}),
    ("ppo", "pendulum", {"scale_actions": True, "sde": True}),
    ("ppo", "acrobot", {"hidden": [16, 8, 8], "activation": "relu"}),
    ("ppo", "cartpole-no-velocities", {"cell": "gru", "layer_norm": True, "learned_start": True}),
    ("ppo", "cartpole-no-velocities", {"cell": "gru", "reset": "before", "normalise_observations": True}),
    ("a2c", "pendulum", {"cell": "lstm", "learned_start": True}),
    ("a2c", "pendulum", {"cell": "lstm", "layer_norm": True, "normalise_observations": True}),
    ("trpo", "pendulum", {"cell": "rnn", "layer_norm": True}),
    ("vpg", "pendulum", {"cell": "gru", "sde": True}),
    ("ppo", "bandit:arms=7", {}),
    ("ppo", "point-arena", {}),
    ("ppo", "half-cheetah", {}),
    ("svpg", "pendulum", {"num_particles": 3, "normalise_observations": True, "hidden": [8, 4]}),
    ("svpg", "cartpole-no-velocities", {"num_particles": 3, "cell": "gru"}),
    ("dqn", "acrobot", {"dueling": True, "normalise_observations": True}),
    ("dqn", "mountain-car", {"dueling": True, "prioritised": True, "n_step": 3}),
    ("dqn", "bit-flip:bits=5", {"hindsight": 0.5}),
    ("dql", "acrobot", {"normalise_observations": True, "activation": "relu"}),
    ("dql", "bit-flip:bits=4", {}),
    ("ddpg", "pendulum", {"noise": "ornstein_uhlenbeck", "normalise_observations": True}),
    ("td3", "mountain-car-continuous", {"normalise_observations": True}),
    ("sac", "pendulum", {}),
    ("sac", "pendulum", {"normalise_observations": True, "hidden": [8, 8]}),
    ("sac", "pendulum", {"sde": True}),
    ("sac", "acrobot", {"normalise_observations": True}),
    ("cem", "pendulum", {}),
    ("ars", "pendulum", {"scale_actions": True}),
    ("cma-es", "pendulum", {}),
    ("openai-es", "pendulum", {}),
    ("ars", "pendulum", {"hidden": [], "normalise_observations": True}),
    ("promp", "point-momentum", {"learn_inner_lr": True}),
    ("promp", "navigation", {"scale_actions": True}),
    ("maml-ppo", "bandit", {}),
    ("rl2-ppo", "point-corner", {"normalise_observations": None}),
    ("rl2-ppo", "point-corner", {"cell": "lstm", "show_time_limit": True, "layer_norm": True, "learned_start": True}),
    ("rl2-ppo", "point-corner", {"scale_actions": True}),
    ("rl2-ppo", "dark-room", {"cell": "rnn", "carry_over": False, "critic": "separate"}),
    ("rl2-trpo", "bandit", {"reset": "before"}),
    ("pearl", "point-robot", {"encoder": "gru"}),
    ("pearl", "point-robot", {"encoder": "gru", "use_information_bottleneck": False, "use_next_obs_in_context": True}),
    ("pearl", "point-robot", {"encoder": "mlp", "use_information_bottleneck": False}),
    ("pearl", "point-robot", {"encoder": "mlp", "use_next_obs_in_context": True, "latent_dim": 3, "hidden": [8, 8]}),
]
STEPS = {"pearl": 1500, "sac": 300, "dqn": 300, "dql": 300, "ddpg": 300, "td3": 300}


def cases() -> list[tuple[str, str, dict[str, Any]]]:
    """Every algorithm, and the others with those settings that say how small a run is."""
    all_of = [(name, env, small) for name, (env, small) in ALGORITHMS.items()]
    for name, env, settings in MORE:
        merged = ALGORITHMS[name][1] | settings
        all_of.append((name, env, {key: value for key, value in merged.items() if value is not None}))
    return all_of


def identify(case: Any) -> str:
    """Name a case by what is special of it."""
    name, env, settings = case
    special = {key: value for key, value in settings.items() if ALGORITHMS[name][1].get(key) != value}
    return " ".join([name, env, *(f"{key}={value}" for key, value in special.items())])


def difference(policy: quickstudy.Policy, steps: list[Any]) -> float:
    """Compare the actions of a policy with those of recorded steps, and give the largest difference."""
    largest = 0.0
    for step in steps:
        action = policy.act(step["obs"])
        if isinstance(policy.space, quickstudy.Discrete):
            assert isinstance(action, int)
            assert action == step["action"][0]
        else:
            assert isinstance(action, np.ndarray) and action.dtype == np.float32
            low, high = (np.array(bound, np.float32) for bound in (policy.space.low, policy.space.high))
            assert ((action >= low) & (action <= high)).all()
            largest = max(largest, float(np.abs(action - np.array(step["action"])).max()))
        policy.observe(step["reward"], step["terminated"], step["truncated"], next_obs=step["next"])
    return largest


def check(name: str, snapshot: Path) -> None:
    """Compare a snapshot's actions with those of the command line."""
    policy = quickstudy.load(snapshot)
    if isinstance(policy, quickstudy.ContextPolicy):
        check_belief(name, snapshot)
        return
    compared = [compare(policy, snapshot)]
    # A policy that has hardly learned makes the same choice everywhere, or acts close to 0; random ones do not.
    for seed in range(20):
        rewrite(snapshot, Path("lively.safetensors"), functools.partial(enliven, seed))
        policy = quickstudy.load("lively.safetensors")
        compared.append(compare(policy, Path("lively.safetensors")))
        if compared[-1].actions > 1 or policy.env.startswith("bandit") and not policy.remembers:
            break
    else:
        raise AssertionError("all random policies act alike everywhere")
    steps, actions, largest, of_model = (
        tuple(getattr(one, part) for one in compared) for part in ("steps", "actions", "largest", "of_model")
    )
    found = f"largest difference {max(largest):.1e}, of the model {max(of_model):.1e}"
    DIFFERENCES[name] = f"{sum(steps)} steps, {sum(actions)} actions, {found}"


@dataclass
class Compared:
    """Counts of a comparison, and the largest differences that it saw."""

    steps: int
    actions: int
    largest: float
    of_model: float


def compare(policy: quickstudy.Policy, snapshot: Path) -> Compared:
    """Compare a policy with three episodes of the command line's."""
    _, *steps = played("play", snapshot, 3, 5)
    assert len(steps) >= 3
    largest = difference(policy, steps)
    # Where actions are small, so must be the difference.
    scale = max(abs(number) for step in steps for number in step["action"])
    assert largest <= min(TOLERANCE, 1e-4 * scale), (largest, scale)
    of_model = models.difference(snapshot, steps, TOLERANCE)
    return Compared(len(steps), len({tuple(step["action"]) for step in steps}), largest, of_model)


def enliven(seed: int, tensors: Tensors) -> None:
    """Replace the last layer of each network that acts by random numbers; of particles the last one is the best."""
    rng = np.random.default_rng(seed)
    layers: dict[str, list[str]] = {}
    for name in tensors:
        found = re.fullmatch(r"((?:particle\.\d+\.)?(?:policy|q)\.)(out|\d+)\.weight", name)
        if found:
            layers.setdefault(found[1], []).append(found[2])
    for network, numbers in layers.items():
        last = f"{network}{max(numbers)}"
        tensors[f"{last}.weight"][:] = 2.0 * rng.standard_normal(tensors[f"{last}.weight"].shape)
        tensors[f"{last}.bias"][:] = 0.1 * rng.standard_normal(tensors[f"{last}.bias"].shape)
    if "particles.returns" in tensors:
        tensors["particles.returns"][:] = np.arange(len(tensors["particles.returns"]))
        tensors["particles.episodes"][:] = 1.0


def check_belief(name: str, snapshot: Path) -> None:
    """Compare actions by beliefs. They are drawn by the command line, so the policy gets hardly any deviation."""

    def calm(tensors: Tensors) -> None:
        last = max(key for key in tensors if key.startswith("policy.") and key.endswith(".weight"))
        rng, half = np.random.default_rng(1), len(tensors[last]) // 2
        tensors[last][:half] = 0.5 * rng.standard_normal(tensors[last][:half].shape)
        tensors[last][half:] = 0.0
        tensors[last.replace("weight", "bias")][:half] = 0.0
        tensors[last.replace("weight", "bias")][half:] = -20.0
        first = tensors["policy.0.weight"]
        first[:] = 0.5 * rng.standard_normal(first.shape)

    rewrite(snapshot, Path("calm.safetensors"), calm)
    policy = quickstudy.load("calm.safetensors")
    assert isinstance(policy, quickstudy.ContextPolicy)
    _, *lines = played("play", "calm.safetensors", 3, 5)
    largest, episodes, beliefs = 0.0, 0, []
    policy.act(lines[1]["obs"])
    for line in lines:
        if "normal" in line:
            mean, variance = policy.belief()
            beliefs.append((mean, variance))
            policy.z = mean + np.sqrt(variance) * np.array(line["normal"])
            episodes += 1
        else:
            largest = max(largest, difference(policy, [line]))
    assert episodes == 3
    assert (beliefs[0][0] == 0).all()
    assert np.abs(beliefs[2][0] - beliefs[1][0]).max() > 1e-3
    # A tenth of a belief moves actions by far more than they may differ.
    obs, (mean, _) = lines[-1]["obs"], beliefs[2]
    policy.z = 0.9 * mean
    acted = policy.act(obs)
    policy.z = mean
    assert np.abs(acted - policy.act(obs)).max() > 10 * TOLERANCE
    of_model = models.difference(Path("calm.safetensors"), [], TOLERANCE)
    found = f"largest difference {largest:.1e}, of the model {of_model:.1e}"
    DIFFERENCES[name] = f"{len(lines) - 3} steps, beliefs of 3 episodes, {found}"
    assert largest <= TOLERANCE


@pytest.mark.parametrize("case", cases(), ids=identify)
def test_actions_are_those_of_the_command_line(case: Any) -> None:
    algorithm, env, settings = case
    steps = STEPS.get(algorithm, 600)
    training = quickstudy.train(algorithm, env, steps=steps, threads=1, eval_episodes=1, seed=3, **settings)
    run = training.wait()
    check(identify(case), quickstudy._load.snapshot_of(run, last=False))
    # The last policy has the rest of the state beside it.
    last = quickstudy.load(run, last=True)
    assert (last.algorithm, last.env, last.seed) == (algorithm, env, 3)


@pytest.mark.parametrize("snapshot", golden(), ids=lambda path: "/".join(path.parts[-3:-1]))
def test_actions_of_older_snapshots_are_those_of_the_command_line(snapshot: Path) -> None:
    check("/".join(snapshot.parts[-3:-1]), snapshot)


def test_spaces_of_built_in_environments_are_those_of_the_command_line() -> None:
    spaces = {}
    for name, space in played("spaces"):
        is_choice = "choices" in space
        spaces[name] = (
            quickstudy.Discrete(space["choices"])
            if is_choice
            else quickstudy.Box(*map(tuple, (space["low"], space["high"])))
        )
    assert {name: quickstudy._spaces.of_environment(name) for name in spaces} == spaces
