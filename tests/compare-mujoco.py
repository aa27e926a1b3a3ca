#!/usr/bin/env python3
"""Compares steps of bodies with MuJoCo's: compare-mujoco.py [--steps N] [--episodes N] [ENV ...].

Steps real MuJoCo through Gymnasium along rollouts of uniform, held and trained actions, and makes each step by this
project's environment as well, from the same state and from its own warm start. Prints the largest errors in one step,
and how many contacts, limits and ends occurred. Exits with 1 where an error is above its bound. With `--episodes`, the
trained policies instead play whole episodes in both, from the same first states, in single precision here.

Needs mujoco==4.0.0, gymnasium==1.4.0 and numpy, and the program `steps-under-test` of the tests' package.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

import gymnasium
import mujoco
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The name here, that of Gymnasium, and what ours adds to positions, speeds and accelerations in a state.
ENVIRONMENTS = {
    "inverted-pendulum": "InvertedPendulum",
    "inverted-double-pendulum": "InvertedDoublePendulum",
    "reacher": "Reacher",
    "swimmer": "Swimmer",
    "hopper": "Hopper",
    "walker2d": "Walker2d",
    "half-cheetah": "HalfCheetah",
}
STATE, SEEN = 1e-11, 1e-8


def uniform(env, _seen, rng, _step):
    high = env.model.actuator_ctrlrange[:, 1]
    return rng.uniform(-1, 1, env.model.nu) * high


class Held:
    """Actions at their bounds, each for ten steps."""

    def __init__(self):
        self.action = None

    def __call__(self, env, _seen, rng, step):
        if step % 10 == 0 or self.action is None:
            self.action = rng.choice([-1.0, 0.0, 1.0], env.model.nu) * env.model.actuator_ctrlrange[:, 1]
        return self.action


class Trained:
    """A linear policy that has learned to run, with noise: `tests/policies.json` has a row of weights per motor."""

    def __init__(self, weights, noise):
        self.weights, self.noise = np.array(weights), noise

    def __call__(self, env, seen, rng, _step):
        action = self.weights[:, :-1] @ seen + self.weights[:, -1]
        return np.clip(action + self.noise * rng.standard_normal(env.model.nu), -1, 1)


def balancer(env, seen, rng, _step):
    """Keeps poles up, by hand and with noise."""
    high = env.model.actuator_ctrlrange[:, 1]
    double = env.model.nv == 3
    angle, speed = (0.5 * (seen[1] + seen[2]), seen[6]) if double else (seen[1], seen[3])
    force = (3 * angle + 0.6 * speed + 0.3 * seen[0]) * high + 0.1 * high * rng.standard_normal(1)
    return np.clip(force, -high, high)


def rollout(name, policy, steps, seed):
    """Steps of the real environment: states before and after, with what was seen and paid."""
    env = gymnasium.make(f"{ENVIRONMENTS[name]}-v5").unwrapped
    model, data = env.model, env.data
    model.opt.tolerance = 0.0
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    rows, step = [], 0
    counts = {"floor": 0, "self": 0, "limits": 0}
    seen = env._get_obs()
    for _ in range(steps):
        action = np.asarray(policy(env, seen, rng, step), dtype=float)
        before = [data.qpos.copy(), data.qvel.copy(), data.qacc_warmstart.copy()]
        seen, reward, ended, _, _ = env.step(action)
        step += 1
        rows.append((before, action, data.qpos.copy(), data.qvel.copy(), seen.copy(), reward, ended))
        bodies = [model.geom_bodyid[contact.geom] for contact in data.contact[: data.ncon]]
        own = sum(1 for pair in bodies if pair.min() > 0)
        counts["self"] = max(counts["self"], own)
        counts["floor"] = max(counts["floor"], data.ncon - own)
        limits = int((data.efc_type[: data.nefc] == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT).sum())
        counts["limits"] = max(counts["limits"], limits)
        if ended or step >= (50 if name == "reacher" else 1000):
            env.reset()
            seen, step = env._get_obs(), 0
    return env, rows, counts


def state_of(name, qpos, qvel, qacc):
    """Our state of MuJoCo's."""
    if name == "reacher":  # joints 0 and 1 are the arm, 2 and 3 the target; the fingertip is not read
        return np.concatenate([qpos[:2], qvel[:2], qacc[:2], qpos[2:], [0, 0]])
    if name == "inverted-double-pendulum":  # nor is the force
        return np.concatenate([qpos, qvel, qacc, [0]])
    return np.concatenate([qpos, qvel, qacc])


def ours(program, name, rows, precision):
    sizes = subprocess.run([program, name, "sizes"], capture_output=True, text=True, check=True).stdout.split()
    state, action, seen = map(int, sizes)
    records = [np.concatenate([state_of(name, *before), a]) for before, a, *_ in rows]
    assert all(len(record) == state + action for record in records), name
    arguments = [program, name] + (["f32"] if precision == "f32" else [])
    out = subprocess.run(arguments, input=np.concatenate(records).tobytes(), capture_output=True, check=True).stdout
    table = np.frombuffer(out).reshape(len(rows), state + seen + 2)
    return table[:, :state], table[:, state : state + seen], table[:, -2], table[:, -1] > 0.5


def compare(program, name, policy, steps, seed, precision):
    env, rows, counts = rollout(name, policy, steps, seed)
    state, seen, reward, ended = ours(program, name, rows, precision)
    joints = 2 if name == "reacher" else env.model.nv
    places = np.array([row[2][:joints] for row in rows])
    speeds = np.array([row[3][:joints] for row in rows])
    place_error = np.abs(state[:, :joints] - places).max(axis=1)
    speed_error = (np.abs(state[:, joints : 2 * joints] - speeds) / (1 + np.abs(speeds))).max(axis=1)
    in_state = np.maximum(place_error, speed_error)
    shown = np.array([row[4] for row in rows])
    in_seen = (np.abs(seen - shown) / (1 + np.abs(shown))).max(axis=1)
    paid = np.array([row[5] for row in rows])
    in_reward = np.abs(reward - paid) / (1 + np.abs(paid))
    ends = np.array([row[6] for row in rows])
    return in_state, in_seen, in_reward, int((ended != ends).sum()), counts, int(ends.sum())


def transfer(program, name, weights, episodes, seed):
    """Means of returns of the same policy from the same first states, in MuJoCo and here, and whether they agree."""
    env = gymnasium.make(f"{ENVIRONMENTS[name]}-v5").unwrapped
    starts, theirs, lengths = [], [], []
    policy = Trained(weights, 0.0)
    rng = np.random.default_rng(seed)
    for episode in range(episodes):
        seen, _ = env.reset(seed=seed + episode)
        starts.append(state_of(name, env.data.qpos, env.data.qvel, np.zeros(env.model.nv)))
        total, length, ended = 0.0, 0, False
        while not ended and length < 1000:
            seen, reward, ended, _, _ = env.step(policy(env, seen, rng, length))
            total, length = total + reward, length + 1
        theirs.append(total)
        lengths.append(length)
    numbers = np.concatenate([np.array(weights).ravel(), np.concatenate(starts)])
    out = subprocess.run([program, name, "play"], input=numbers.tobytes(), capture_output=True, check=True).stdout
    ours = np.frombuffer(out).reshape(episodes, 2)
    difference = ours[:, 0] - np.array(theirs)
    error = difference.std(ddof=1) / np.sqrt(episodes)
    apart, mean = abs(difference.mean()), np.mean(theirs)
    print(
        f"{name:16} MuJoCo {mean:8.1f}, here {ours[:, 0].mean():8.1f}, difference {difference.mean():8.1f} "
        f"± {error:.1f} ({apart / abs(mean):.1%}); steps {np.mean(lengths):.0f}, here {ours[:, 1].mean():.0f}",
        flush=True,
    )
    return apart <= 0.05 * abs(mean) or apart <= 2 * error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("env", nargs="*", metavar="ENV", help="environments; all by default")
    parser.add_argument("--steps", type=int, default=2000, help="steps of each rollout")
    parser.add_argument("--episodes", type=int, help="play so many episodes with each trained policy")
    parser.add_argument("--seed", type=int, default=1234)
    parser.add_argument("--precision", choices=["f64", "f32"], default="f64")
    parser.add_argument("--program", help="the built steps-under-test")
    args = parser.parse_args()
    program = args.program
    if not program:
        build = ["cargo", "build", "--release", "-p", "quickstudy-tests", "--bin", "steps-under-test"]
        subprocess.run(build, cwd=ROOT, check=True)
        program = str(ROOT / "target" / "release" / "steps-under-test")
    unknown = [name for name in args.env if name not in ENVIRONMENTS]
    if unknown:
        parser.error(f"{', '.join(unknown)}: expected some of {', '.join(ENVIRONMENTS)}")
    trained = json.loads((ROOT / "tests" / "policies.json").read_text())
    if args.episodes:
        names = [name for name in args.env or trained if name in trained]
        agree = [transfer(program, name, trained[name], args.episodes, args.seed) for name in names]
        sys.exit(int(not all(agree)))
    print(f"mujoco {mujoco.__version__}, gymnasium {gymnasium.__version__}; errors of one step, median and largest")
    head = f"{'environment':26}{'actions':10}{'state':>20}{'observation':>14}{'reward':>10}{'ends':>12}"
    print(f"{head}  rows seen at once")
    failed = False
    for name in args.env or ENVIRONMENTS:
        policies = {"uniform": uniform, "held": Held()}
        if name.startswith("inverted"):
            policies["balanced"] = balancer
        if name in trained:
            policies |= {"trained": Trained(trained[name], 0.0), "noisy": Trained(trained[name], 0.3)}
        for label, policy in policies.items():
            begin = time.perf_counter()
            in_state, in_seen, in_reward, differ, counts, ends = compare(
                program, name, policy, args.steps, args.seed, args.precision
            )
            rows = ", ".join(f"{key} {value}" for key, value in counts.items())
            state = f"{np.median(in_state):.0e} {in_state.max():.0e}"
            print(
                f"{name:26}{label:10}{state:>20}{in_seen.max():14.0e}{in_reward.max():10.0e}"
                f"{f'{differ} of {ends}':>12}  {rows}  ({time.perf_counter() - begin:.0f} s)",
                flush=True,
            )
            exact = in_state.max() <= STATE and in_seen.max() <= SEEN and in_reward.max() <= SEEN and differ == 0
            failed |= args.precision == "f64" and not exact
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
