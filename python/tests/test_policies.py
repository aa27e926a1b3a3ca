"""Policies in batches, with memories, and by draws; and what they refuse."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rewriting import Tensors, rewrite

import quickstudy

SNAPSHOTS = Path(os.environ["QUICKSTUDY_SNAPSHOTS"])


def policy_of(name: str) -> Path:
    """Give a policy of the repository's snapshots."""
    return SNAPSHOTS / "format-2" / name / "policy.safetensors"


@pytest.mark.parametrize("name", ["a2c", "ppo", "dqn", "dql", "sac", "td3", "ars", "ppo-gru", "a2c-lstm", "rl2-trpo"])
def test_a_batch_acts_as_its_rows_do(name: str) -> None:
    policy = quickstudy.load(policy_of(name))
    seen = np.random.default_rng(1).normal(size=(4, 3, policy.observations))
    ends = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0], [0, 0, 1]], dtype=bool)
    at_once = []
    for obs, ended in zip(seen, ends, strict=True):
        at_once.append(policy.act(obs))
        policy.observe(np.arange(3.0), ended)
    for row in range(3):
        policy.reset()
        for step in range(4):
            action = policy.act(seen[step, row])
            whole = np.asarray(at_once[step])
            assert np.ndim(action) == whole.ndim - 1
            np.testing.assert_allclose(action, whole[row], atol=1e-6)
            policy.observe(row, bool(ends[step, row]))


def test_shapes_and_types_are_those_of_gymnasium() -> None:
    choices, vectors = quickstudy.load(policy_of("a2c")), quickstudy.load(policy_of("sac"))
    assert type(choices.act([0.0] * 4)) is int
    batch = choices.act(np.zeros((5, 4)))
    assert isinstance(batch, np.ndarray) and batch.shape == (5,) and batch.dtype == np.int64
    one, batch = vectors.act(np.zeros(3)), vectors.act(np.zeros((5, 3), np.float32))
    assert isinstance(one, np.ndarray) and one.shape == (1,) and one.dtype == np.float32
    assert isinstance(batch, np.ndarray) and batch.shape == (5, 1) and batch.dtype == np.float32
    assert (choices.algorithm, choices.env, choices.space) == ("a2c", "cartpole", quickstudy.Discrete(2))
    assert vectors.space == quickstudy.Box((-2.0,), (2.0,))


def test_a_memory_lasts_until_an_episode_ends_or_it_is_reset() -> None:
    policy = quickstudy.load(policy_of("ppo-gru"))
    assert policy.remembers
    obs = [0.5, -0.5]

    def state() -> Any:
        policy.act(obs)
        assert policy._state is not None
        return policy._state.copy()

    first, second = state(), state()
    assert not np.array_equal(first, second)
    policy.observe(1.0)
    assert not np.array_equal(state(), first)
    policy.observe(1.0, truncated=True)
    assert np.array_equal(state(), first)
    policy.reset()
    assert np.array_equal(state(), first)
    with pytest.raises(quickstudy.Error, match="remembers 1 environments, and these are 2"):
        policy.act([obs, obs])
    with pytest.raises(quickstudy.Error, match=r"reward of 1 environments is \[1\], and this is \[2\]"):
        policy.observe([1.0, 2.0])


def test_a_policy_that_remembers_warns_once_where_it_is_not_told_of_episodes() -> None:
    def warnings_of(name: str, *calls: str) -> list[str]:
        policy = quickstudy.load(policy_of(name))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for call in calls:
                match call:
                    case "act":
                        policy.act(np.zeros(policy.observations))
                    case "observe":
                        policy.observe(1.0, next_obs=np.zeros(policy.observations))
                    case "reset":
                        policy.reset()
        assert all(warning.filename == __file__ for warning in caught)
        return [str(warning.message) for warning in caught]

    for name in ("ppo-gru", "rl2-trpo", "pearl"):
        [said] = warnings_of(name, "act", "act", "act", "act")
        assert "call observe() after each act()" in said
        assert ("or reset() where an episode begins" in said) == (name == "ppo-gru")
        assert warnings_of(name, "act", "observe", "act", "observe", "act") == []
        # Recurrent units need no more than that; the others learn of their task by what came of actions.
        assert len(warnings_of(name, "reset", "act", "act", "reset", "act", "act")) == (name != "ppo-gru")
    assert warnings_of("ppo", "act", "act") == []


def test_what_a_trial_has_shown_is_remembered_through_its_episodes() -> None:
    def enliven(tensors: Tensors) -> None:
        tensors["policy.out.weight"][:] *= 1e3

    rewrite(policy_of("rl2-trpo"), Path("lively.safetensors"), enliven)
    policy = quickstudy.load("lively.safetensors")
    obs = np.zeros(policy.observations)
    before = np.asarray(policy.act(obs))
    policy.observe(3.0, terminated=True)
    after = np.asarray(policy.act(obs))
    policy.reset()
    policy.act(obs)
    policy.observe(-3.0, terminated=True)
    assert not np.allclose(after, before, atol=1e-4)
    assert not np.allclose(after, policy.act(obs), atol=1e-4)
    policy.reset()
    assert np.array_equal(before, policy.act(obs))
    with pytest.raises(quickstudy.Error, match="no action yet"):
        quickstudy.load("lively.safetensors").observe(1.0)


def test_beliefs_follow_from_what_was_observed() -> None:
    policy = quickstudy.load(policy_of("pearl"), seed=1)
    assert isinstance(policy, quickstudy.ContextPolicy)
    with pytest.raises(quickstudy.Error, match="no z yet"):
        _ = policy.z
    obs = np.zeros((3, policy.observations))
    policy.act(obs)
    mean, variance = policy.belief()
    assert (mean == 0).all() and (variance == 1).all()
    first = policy.z
    assert len(np.unique(first)) == first.size
    policy.observe([1.0, 2.0, 2.0], truncated=[False, False, True], next_obs=obs)
    with pytest.raises(quickstudy.Error, match="give next_obs"):
        policy.observe(1.0)
    mean, variance = policy.belief()
    assert (variance < 1).all()
    assert not np.allclose(mean[0], mean[1])
    assert np.array_equal(policy.z[:2], first[:2]) and not np.array_equal(policy.z[2], first[2])
    policy.z = np.zeros(first.shape)
    alike = np.asarray(policy.act(obs))
    assert (alike == alike[0]).all()
    with pytest.raises(quickstudy.Error, match="z is"):
        policy.z = np.zeros((3, 1))
    policy.reset()
    policy.act(obs)
    assert (policy.belief()[0] == 0).all()


def test_drawn_actions_have_the_distribution_of_the_policy() -> None:
    n = 20_000

    def drawn(name: str, obs: Any) -> Any:
        policy = quickstudy.load(name if name.endswith("tensors") else policy_of(name), seed=7)
        return policy, np.asarray(policy.act(np.tile(obs, (n, 1)), deterministic=False))

    # Choices by the softmax of their logits.
    policy, choices = drawn("a2c", [0.1, 0.2, -0.1, 0.4])
    logits = policy._trunk(np.array([[0.1, 0.2, -0.1, 0.4]], np.float32).astype(float))[0][0]
    p = 1 / (1 + np.exp(logits[0] - logits[1]))
    assert abs(choices.mean() - p) < 4 * np.sqrt(p * (1 - p) / n)
    # Vectors around their mean; hardly any is beyond the bounds.
    vpg = policy_of("vpg")

    def narrow(tensors: Tensors) -> None:
        tensors["policy.log_std"][:] = -2.0

    rewrite(vpg, Path("narrow.safetensors"), narrow)
    policy, vectors = drawn("narrow.safetensors", [0.6, 0.8, 0.1])
    mean = np.asarray(policy.act([0.6, 0.8, 0.1]))
    sigma = np.exp(-2.0)
    assert np.abs(vectors.mean(0) - mean).max() < 4 * sigma / np.sqrt(n)
    assert np.abs(vectors.std(0) / sigma - 1).max() < 0.03
    # Any choice with probability ε.
    policy, choices = drawn("dqn", [0.1, 0.2, -0.1, 0.4])
    epsilon = policy.config["epsilon_final"]
    others = (choices != policy.act([0.1, 0.2, -0.1, 0.4])).mean()
    assert epsilon > 0 and abs(others - epsilon / 2) < 4 * np.sqrt(epsilon / 2 / n)
    # Noise on what is squashed.
    policy, vectors = drawn("td3", [0.6, 0.8, 0.1])
    best, sigma = np.asarray(policy.act([0.6, 0.8, 0.1])), 2.0 * policy.config["sigma"]
    inside = np.clip(np.random.default_rng(0).normal(best, sigma, (n, 1)), -2, 2)
    assert abs(vectors.mean() - inside.mean()) < 0.05 * sigma and abs(vectors.std() / inside.std() - 1) < 0.05


def test_drawn_z_has_the_distribution_of_the_belief() -> None:
    n = 20_000
    policy = quickstudy.load(policy_of("pearl"), seed=3)
    assert isinstance(policy, quickstudy.ContextPolicy)
    obs = np.full((n, policy.observations), 0.5)
    policy.act(obs)
    policy.z = np.zeros(policy.z.shape)  # so that all have seen the same
    for ended in (False, True):
        policy.act(obs)
        policy.observe(np.full(n, 2.0), terminated=np.full(n, ended), next_obs=obs)
    mean, variance = policy.belief()
    assert (mean == mean[0]).all() and (variance == variance[0]).all() and (variance < 0.9).all()
    deviation = np.sqrt(variance[0])
    assert (np.abs(policy.z.mean(0) - mean[0]) < 4 * deviation / np.sqrt(n)).all()
    assert (np.abs(policy.z.std(0) / deviation - 1) < 0.03).all()


@pytest.mark.parametrize("name", ["ppo", "sac", "ddpg", "rl2-trpo", "pearl", "svpg", "dql", "promp"])
def test_the_same_seed_draws_the_same(name: str) -> None:
    def actions(seed: int) -> Any:
        policy = quickstudy.load(policy_of(name), seed=seed)
        obs = np.tile(np.linspace(-0.5, 0.5, policy.observations), (50, 1))
        return [policy.act(obs, deterministic=False) for _ in range(3)]

    assert np.array_equal(actions(1), actions(1))
    assert not np.array_equal(actions(1), actions(2))
    policy = quickstudy.load(policy_of(name))
    if not policy.remembers:
        obs = np.zeros((50, policy.observations))
        actions_of_three = np.asarray(policy.act(obs, False, rng=3))
        policy.reset()  # noise that lasts begins anew
        assert np.array_equal(actions_of_three, policy.act(obs, False, rng=3))


def test_particles_are_chosen_by_their_numbers() -> None:
    path = policy_of("svpg")
    count = len(quickstudy._load.Snapshot(path).tensor("particles.returns"))
    policies = [quickstudy.load(path, particle=number) for number in range(count)]
    best = quickstudy.load(path)

    def weights(policy: Any) -> Any:
        return policy._trunk.linear[0].weight

    assert not np.array_equal(weights(policies[0]), weights(policies[1]))
    assert sum(np.array_equal(weights(best), weights(policy)) for policy in policies) == 1
    for wrong in (-1, count):
        with pytest.raises(quickstudy.Error, match="there is no particle"):
            quickstudy.load(path, particle=wrong)
    with pytest.raises(quickstudy.Error, match="has no particles"):
        quickstudy.load(policy_of("ppo"), particle=0)


def test_wrong_observations_are_refused() -> None:
    policy = quickstudy.load(policy_of("a2c"))
    for wrong in ([0.0] * 3, np.zeros((2, 5)), 0.0, np.zeros((2, 2, 4))):
        with pytest.raises(quickstudy.Error, match=r"are \[4\] or \[batch, 4\]"):
            policy.act(wrong)
    for wrong in (np.nan, np.inf):
        with pytest.raises(quickstudy.Error, match="not finite"):
            policy.act([0.0, wrong, 0.0, 0.0])


def test_environments_that_are_not_built_in_need_an_action_space() -> None:
    class Discrete:
        n = np.int64(2)

    class Vectors:
        low, high = np.array([-1.0], np.float32), np.array([3.0], np.float32)

    def nothing(tensors: Tensors) -> None:
        pass

    rewrite(policy_of("a2c"), Path("choices.safetensors"), nothing, env="gymnasium:Mine-v0")
    rewrite(policy_of("td3"), Path("vectors.safetensors"), nothing, env="gymnasium:Mine-v0")
    for name in ("choices", "vectors"):
        with pytest.raises(quickstudy.Error, match="`gymnasium:Mine-v0` is not built in"):
            quickstudy.load(f"{name}.safetensors")
    policy = quickstudy.load("choices.safetensors", space=Discrete())
    assert policy.act([0.0] * 4) == quickstudy.load(policy_of("a2c")).act([0.0] * 4)
    policy = quickstudy.load("vectors.safetensors", space=Vectors())
    known = np.asarray(quickstudy.load(policy_of("td3")).act([0.1] * 3))
    np.testing.assert_allclose(policy.act([0.1] * 3), known + 1.0, atol=1e-6)
    for file, space, said in [
        ("choices", Vectors(), "without a deviation"),
        ("vectors", Discrete(), "takes continuous"),
        ("choices", quickstudy.Discrete(3), "gives 2 numbers"),
        ("vectors", quickstudy.Box((0.0, 0.0), (1.0, 1.0)), "gives 1 numbers"),
        ("vectors", quickstudy.Box((0.0,), (np.inf,)), "no finite bounds"),
        ("choices", "two", "is no Discrete"),
    ]:
        with pytest.raises(quickstudy.Error, match=said):
            quickstudy.load(f"{file}.safetensors", space=space)


def test_files_that_are_no_policies_are_refused(tmp_path: Path) -> None:
    whole = policy_of("a2c").read_bytes()
    size = int.from_bytes(whole[:8], "little")
    other = json.dumps({"__metadata__": {"format": "pt"}}).encode()
    for data, said in [
        (b"", "is no snapshot"),
        (whole[:100], "is no snapshot"),
        (whole[: 8 + size + 8], "no sound tensor"),
        (b"\xff" * 64, "is no snapshot"),
        (len(other).to_bytes(8, "little") + other, "is no snapshot"),
    ]:
        Path("wrong.safetensors").write_bytes(data)
        with pytest.raises(quickstudy.Error, match=said):
            quickstudy.load("wrong.safetensors")
    with pytest.raises(quickstudy.Error, match="does not exist"):
        quickstudy.load("nowhere")
    with pytest.raises(quickstudy.Error, match="holds no policy"):
        quickstudy.load(tmp_path)
    for run in ("b", "a"):
        Path("runs", run).mkdir(parents=True)
        Path("runs", run, "last.safetensors").write_bytes(whole)
    with pytest.raises(quickstudy.Error, match="holds the runs a, b"):
        quickstudy.load("runs")
    with pytest.raises(quickstudy.Error, match="format 1.*--resume"):
        quickstudy.load(next((SNAPSHOTS / "format-1").glob("*/*.safetensors")))

    def nothing(tensors: Tensors) -> None:
        pass

    rewrite(policy_of("a2c"), Path("newer.safetensors"), nothing, format=99)
    with pytest.raises(quickstudy.Error, match="format 99.*update"):
        quickstudy.load("newer.safetensors")


def test_the_best_policy_of_a_run_is_loaded() -> None:
    Path("run").mkdir()
    Path("run/last.safetensors").write_bytes(policy_of("a2c").read_bytes())
    assert quickstudy.load("run").algorithm == "a2c"
    Path("run/best.safetensors").write_bytes(policy_of("sac").read_bytes())
    assert quickstudy.load("run").algorithm == "sac"
    assert quickstudy.load("run", last=True).algorithm == "a2c"


def test_several_choices_at_once_are_each_by_logits_of_their_own() -> None:
    choices = [{"name": "a", "names": ["x", "y"]}, {"name": "b", "names": ["x", "y", "z"]}]
    spec = {"name": "own", "action": {"kind": "multidiscrete", "choices": choices}}
    source = policy_of("a2c")

    def widen(tensors: Tensors) -> None:
        last = max(int(name.split(".")[1]) for name in tensors if name.endswith(".weight"))
        weight = np.random.default_rng(3).normal(size=(5, tensors[f"policy.{last}.weight"].shape[1]))
        tensors[f"policy.{last}.weight"] = weight.astype(np.float32)
        tensors[f"policy.{last}.bias"] = np.zeros(5, np.float32)

    rewrite(source, Path("several.safetensors"), widen, spec=spec, env="own")
    policy = quickstudy.load("several.safetensors")
    assert policy.space == quickstudy.MultiDiscrete((2, 3))
    seen = np.random.default_rng(1).normal(size=(64, 4))
    out = policy._trunk(seen)[0]
    expected = np.stack([out[:, :2].argmax(axis=1), out[:, 2:].argmax(axis=1)], axis=1)
    np.testing.assert_array_equal(policy.act(seen), expected)
    assert len({tuple(row) for row in expected}) > 3
    assert isinstance(one := policy.act(seen[0]), np.ndarray) and one.tolist() == expected[0].tolist()
    drawn = np.asarray(policy.act(np.zeros((4000, 4)), deterministic=False, rng=1))
    assert drawn.max(axis=0).tolist() == [1, 2] and abs(np.corrcoef(drawn.T)[0, 1]) < 0.05
