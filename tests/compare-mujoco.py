#!/usr/bin/env python3
"""Compares steps of bodies with MuJoCo's: compare-mujoco.py [--steps N] [--episodes N] [--pairs N] [ENV ...].

Steps real MuJoCo through Gymnasium along rollouts of uniform, held and trained actions, and of bodies that have fallen
and go on, and makes each step by this project's environment as well, from the same state and from its own warm start.
Prints the largest errors in one step, and how many contacts, limits and ends occurred. Exits with 1 where an error is
above its bound, or where a contact or limit that a rollout must meet did not occur. With `--episodes`, the trained
policies instead play whole episodes in both, from the same first states, in single precision here; it exits with 1
where mean returns differ by more than 5 % and by more than two standard errors of the paired differences. With
`--pairs`, uniform actions play so many episodes in both from the same first states, in f64 here, and as many from
first states that each side draws; `mujoco_pairs.py` says what is compared and when it exits with 1.

Where each task changes a body, MuJoCo's model is changed as well, by another task every so many steps; what follows
from its numbers is computed anew (`mj_setConst`).

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
from mujoco_pairs import ENVIRONMENTS, distributions, pairs, state_of

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Bounds of errors: of states, and of observations and rewards.
STATE, SEEN = 1e-11, 1e-8
# The bound of states of bodies that have fallen, or that a task has changed.
FALLEN_STATE = 1e-9
# Tasks of each rollout of a body that tasks change. Motion goes on from one to the next.
TASKS = 200
# Bodies that got so far, in metres, go on from the origin: MuJoCo's places are rounded more coarsely far from it.
FAR = 50.0

# Contacts and limits that a rollout must meet, each in so many steps of a thousand. `floor`, `self` and `limits` with a
# number are as many at once or more, `low` is a torso within 0.3 m of the floor, and others are contacts of two links.
MUST = {
    ("inverted-pendulum", "fallen"): {"limits 1": 100},
    ("inverted-double-pendulum", "fallen"): {"limits 1": 100},
    ("reacher", "held"): {"limits 1": 10},
    ("swimmer", "held"): {"limits 2": 10},
    ("hopper", "held"): {"floor 2": 10, "limits 1": 10},
    ("hopper", "trained"): {"floor 2": 10},
    ("hopper", "fallen"): {
        "floor 3": 1,
        "limits 2": 10,
        "low": 50,
        "torso-leg": 10,
        "torso-foot": 10,
        "thigh-foot": 1,
    },
    ("hopper", "folded"): {"torso-leg": 50, "parallel": 20},
    ("walker2d", "held"): {"floor 2": 10, "limits 2": 10},
    ("walker2d", "trained"): {"floor 2": 10},
    ("walker2d", "fallen"): {"floor 4": 1, "limits 4": 1, "low": 50},
    ("hopper-rand-params", "held"): {"floor 2": 10, "limits 1": 10},
    ("hopper-rand-params", "fallen"): {"floor 3": 1, "limits 2": 10, "low": 50, "torso-leg": 10, "torso-foot": 10},
    ("walker2d-rand-params", "held"): {"floor 2": 10, "limits 2": 10},
    ("walker2d-rand-params", "fallen"): {"floor 4": 1, "limits 4": 1, "low": 50},
    ("half-cheetah", "held"): {"floor 3": 10, "limits 2": 10},
    ("half-cheetah", "trained"): {"floor 1": 10},
}


def uniform(env, _seen, rng, _step):
    high = env.model.actuator_ctrlrange[:, 1]
    return rng.uniform(-1, 1, env.model.nu) * high


class Held:
    """Actions at their bounds, each for some steps; `rests` is the share of those in which no motor pulls."""

    def __init__(self, length, rests=0.0):
        self.length, self.rests = length, rests
        self.action = None

    def __call__(self, env, _seen, rng, step):
        if step % self.length == 0 or self.action is None:
            self.action = rng.choice([-1.0, 0.0, 1.0], env.model.nu) * env.model.actuator_ctrlrange[:, 1]
            self.action *= rng.random() >= self.rests
        return self.action


class Folded(Held):
    """Held actions of a hopper whose leg is laid along its torso every 20 steps, to within 1e-4 rad.

    It is put back at the origin then. Some 10 m from there MuJoCo's places of axes that cross differ by rounding so far
    that it takes a normal from them.
    """

    def __call__(self, env, seen, rng, step):
        if step % 20 == 0:
            bend, turn = rng.uniform(-0.2, 0.2), np.pi * rng.choice([1, 2])
            env.data.qpos[:2] = 0.0, 1.25
            env.data.qpos[3:5] = bend - np.pi, np.pi - bend - turn + rng.uniform(-1e-4, 1e-4)
        return super().__call__(env, seen, rng, step)


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


def occurred(model, data):
    """Lists which contacts and limits had a row in the last solution of a step."""
    links = [sorted(model.geom_bodyid[contact.geom]) for contact in data.contact[: data.ncon]]
    own = [pair for pair in links if pair[0] > 0]
    limits = int((data.efc_type[: data.nefc] == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT).sum())
    pairs = {"-".join(model.body(link).name for link in pair) for pair in own}
    # The normal of two capsules whose axes cross is that of the plane.
    if any(abs(contact.frame[1]) > 0.5 for contact in data.contact[: data.ncon]):
        pairs.add("crossed")
    return {"floor": len(links) - len(own), "self": len(own), "limits": limits}, pairs


class Tasks:
    """Draws the numbers of a body for each task, as `rand_param_envs` does, and puts them into MuJoCo's model."""

    def __init__(self, program, name, model, seed):
        lines = subprocess.run([program, name, "task"], capture_output=True, text=True, check=True).stdout.splitlines()
        self.names = [line.split()[0] for line in lines]
        self.ranges = np.log([[float(bound) for bound in line.split()[1:]] for line in lines]).reshape(-1, 2)
        self.model, self.scratch = model, mujoco.MjData(model)
        self.rng = np.random.default_rng(seed)
        kept = ("body_mass", "body_inertia", "geom_friction", "dof_damping")
        self.described = {what: getattr(model, what).copy() for what in kept}
        frames = np.empty((model.nbody, 9))
        for frame, quaternion in zip(frames, model.body_iquat, strict=True):
            mujoco.mju_quat2Mat(frame, quaternion)
        along = np.abs(frames.reshape(-1, 3, 3)[:, 1])
        # The principal axis that is the normal of the plane.
        self.normal = along.argmax(axis=1)
        assert (along.max(axis=1)[1:] > 1 - 1e-12).all()

    def place(self, name):
        """The array of a number of a task, and its place there."""
        what, _, of = name.partition("_")
        if what == "damping":
            return "dof_damping", self.model.joint(of).dofadr[0]
        if of == "floor":
            return "geom_friction", (self.model.geom(of).id, 0)
        body = self.model.body(of).id
        if what == "friction":
            return "geom_friction", (self.model.body_geomadr[body], 0)
        return ("body_mass", body) if what == "mass" else ("body_inertia", (body, self.normal[body]))

    def next(self):
        """Another task: its factors."""
        factors = np.exp(self.rng.uniform(self.ranges[:, 0], self.ranges[:, 1]))
        for what, numbers in self.described.items():
            # Numbers that are no part of a task change as well: nothing in the plane depends on them.
            getattr(self.model, what)[:] = numbers * 1.5 ** self.rng.uniform(-3, 3, numbers.shape)
        for name, factor in zip(self.names, factors, strict=True):
            what, place = self.place(name)
            getattr(self.model, what)[place] = self.described[what][place] * factor
        mujoco.mj_setConst(self.model, self.scratch)
        return factors


class Doubled:
    """Notes while MuJoCo steps whether it had two contacts of the same two links in some stage of a step.

    It has where their axes are within 1e-4 rad of parallel.
    """

    def __init__(self):
        self.seen = False

    def __call__(self, _model, data):
        if data.ncon > 1:
            pairs = [tuple(pair) for pair in data.contact.geom[: data.ncon].tolist() if min(pair) > 0]
            self.seen |= len(set(pairs)) < len(pairs)


def rollout(program, name, policy, steps, seed, fallen):
    """Steps of the real environment: states before and after, with what was seen and paid, and what occurred.

    Bodies that have `fallen` go on where others begin anew.
    """
    legged = name.startswith(("hopper", "walker2d"))
    options = {"terminate_when_unhealthy": False} if fallen and legged else {}
    env = gymnasium.make(f"{ENVIRONMENTS[name]}-v5", **options).unwrapped
    model, data = env.model, env.data
    model.opt.tolerance = 0.0
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    rows, step = [], 0
    seen = env._get_obs()
    doubled = Doubled()
    if name.startswith("hopper"):
        mujoco.set_mjcb_control(doubled)
    tasks = Tasks(program, name, model, seed) if name.endswith("rand-params") else None
    task = []
    for number in range(steps):
        if tasks and number % max(1, steps // TASKS) == 0:
            task = tasks.next()
        action = np.asarray(policy(env, seen, rng, step), dtype=float)
        before = [data.qpos.copy(), data.qvel.copy(), data.qacc_warmstart.copy()]
        doubled.seen = False
        seen, reward, ended, _, _ = env.step(action)
        step += 1
        counts, pairs = occurred(model, data)
        if doubled.seen:
            pairs.add("parallel")
        if legged and data.qpos[1] < 0.3:
            pairs.add("low")
        after = data.qpos.copy(), data.qvel.copy(), seen.copy(), reward, ended
        rows.append((before, np.concatenate([action, task]), *after, counts, pairs))
        if (ended and not fallen) or step >= (50 if name == "reacher" else 1000):
            env.reset()
            seen, step = env._get_obs(), 0
        if abs(data.qpos[0]) > FAR:
            data.qpos[0] = 0.0
    mujoco.set_mjcb_control(None)
    return env, rows


def ours(program, name, rows, precision):
    sizes = subprocess.run([program, name, "sizes"], capture_output=True, text=True, check=True).stdout.split()
    state, action, seen, task = map(int, sizes)
    records = [np.concatenate([state_of(name, *before), a]) for before, a, *_ in rows]
    assert all(len(record) == state + action + task for record in records), name
    arguments = [program, name] + (["f32"] if precision == "f32" else [])
    out = subprocess.run(arguments, input=np.concatenate(records).tobytes(), capture_output=True, check=True).stdout
    table = np.frombuffer(out).reshape(len(rows), state + seen + 2)
    return table[:, :state], table[:, state : state + seen], table[:, -2], table[:, -1] > 0.5


class Comparison:
    """Errors of each step of a rollout, and what occurred in it."""

    def __init__(self, program, name, policies, steps, args, fallen):
        rows = []
        for policy in policies:
            env, more = rollout(program, name, policy, -(-steps // len(policies)), args.seed, fallen)
            rows += more
        given = ":terminate_when_unhealthy=false" if fallen and name.startswith(("hopper", "walker2d")) else ""
        state, seen, reward, ended = ours(program, name + given, rows, args.precision)
        joints = 2 if name == "reacher" else env.model.nv
        places, speeds = (np.array([row[column][:joints] for row in rows]) for column in (2, 3))
        place_error = np.abs(state[:, :joints] - places).max(axis=1)
        speed_error = (np.abs(state[:, joints : 2 * joints] - speeds) / (1 + np.abs(speeds))).max(axis=1)
        self.state = np.maximum(place_error, speed_error)
        shown, paid = (np.array([row[column] for row in rows]) for column in (4, 5))
        self.seen = (np.abs(seen - shown) / (1 + np.abs(shown))).max(axis=1)
        self.reward = np.abs(reward - paid) / (1 + np.abs(paid))
        ends = np.array([row[6] for row in rows])
        self.counts, self.pairs = [row[7] for row in rows], [row[8] for row in rows]
        self.ends, self.differ = int(ends.sum()), int((ended != ends).sum())

    def steps_with(self, what):
        """Counts the steps in which something of `MUST` occurred."""
        key, _, least = what.partition(" ")
        if least:
            return sum(counts[key] >= int(least) for counts in self.counts)
        return sum(key in pairs for pairs in self.pairs)

    def met(self):
        """Tells how many contacts and limits there were at once, and in how many steps links met and bodies lay."""
        most = [f"{key} {max(counts[key] for counts in self.counts)}" for key in self.counts[0]]
        names = sorted(set().union(*self.pairs))
        return ", ".join(most + [f"{key} in {self.steps_with(key)}" for key in names])

    def missing(self, must):
        """Lists what should have occurred, and did not in as many steps."""
        for what, share in must.items():
            least, seen = max(1, share * len(self.counts) // 1000), self.steps_with(what)
            if seen < least:
                yield f"{what} occurred in {seen} steps of {len(self.counts)}, expected at least {least}"

    def faults(self, bound):
        """Lists errors above their bounds; `bound` is that of states."""
        errors = {"state": (self.state, bound), "observation": (self.seen, SEEN), "reward": (self.reward, SEEN)}
        for what, (error, most) in errors.items():
            if not error.max() <= most:
                yield f"the {what} is off by {error.max():.1e} in one step, expected at most {most:.0e}"
        if self.differ:
            yield f"{self.differ} ends differ"


def transfer(program, name, number, weights, episodes, seed):
    """Compares mean returns of the same policy from the same first states, in MuJoCo and here."""
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
    share = f"{apart / abs(mean):.1%}, {apart / error:.1f} standard errors"
    print(
        f"{name:13}{number:2} MuJoCo {mean:8.1f}, here {ours[:, 0].mean():8.1f}, difference {difference.mean():8.1f} "
        f"± {error:.1f} ({share}); steps {np.mean(lengths):.0f}, here {ours[:, 1].mean():.0f}",
        flush=True,
    )
    return apart <= 0.05 * abs(mean) or apart <= 2 * error


def rollouts(name, trained):
    """Lists the rollouts of an environment: a label, and the policies that share its steps."""
    if not name.endswith("rand-params"):
        yield "uniform", [uniform]
    yield "held", [Held(10)]
    if name.startswith("inverted"):
        yield "balanced", [balancer]
    if trained:
        if not name.endswith("rand-params"):
            yield "trained", [Trained(weights, 0.0) for weights in trained]
        yield "noisy", [Trained(weights, 0.3) for weights in trained]
    if name.startswith(("inverted", "hopper", "walker2d")):
        yield "fallen", [Held(30, rests=0.25)]
    if name == "hopper":
        yield "folded", [Folded(30, rests=0.25)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("env", nargs="*", metavar="ENV", help="environments; all by default")
    parser.add_argument("--steps", type=int, default=2000, help="steps of each rollout [default: 2000]")
    parser.add_argument("--episodes", type=int, help="play so many episodes with each trained policy")
    parser.add_argument("--pairs", type=int, help="play so many episodes with uniform actions, and so many resets")
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
        named = [(name, weights) for name in args.env or trained for weights in enumerate(trained.get(name, []), 1)]
        agree = [transfer(program, name, *weights, args.episodes, args.seed) for name, weights in named]
        sys.exit(int(not all(agree)))
    if args.pairs is not None:
        named = args.env or [name for name in ENVIRONMENTS if not name.endswith("rand-params")]
        if any(name.endswith("rand-params") for name in named):
            parser.error("--pairs: bodies that tasks change are compared by steps only; leave them out")
        if args.pairs < 2:
            parser.error(f"--pairs {args.pairs}: expected at least 2 episodes")
        agree = [compare(program, name, args.pairs, args.seed) for name in named for compare in (pairs, distributions)]
        sys.exit(int(not all(agree)))
    print(f"mujoco {mujoco.__version__}, gymnasium {gymnasium.__version__}; errors of one step, median and largest")
    head = f"{'environment':26}{'actions':10}{'state':>14}{'observation':>14}{'reward':>10}{'ends':>12}"
    print(f"{head}  most contacts and limits at once, and steps in which links met and bodies lay")
    failures, largest = [], []
    begin = time.perf_counter()
    for name in args.env or ENVIRONMENTS:
        for label, policies in rollouts(name, trained.get(name.removesuffix("-rand-params"), [])):
            since = time.perf_counter()
            fallen, changed = label in ("fallen", "folded"), name.endswith("rand-params")
            result = Comparison(program, name, policies, args.steps, args, fallen)
            state = f"{np.median(result.state):.0e} {result.state.max():.0e}"
            print(
                f"{name:26}{label:10}{state:>14}{result.seen.max():14.0e}{result.reward.max():10.0e}"
                f"{f'{result.differ} of {result.ends}':>12}  {result.met()}  ({time.perf_counter() - since:.0f} s)",
                flush=True,
            )
            where = f"{name}, {label}"
            largest += [(error, where, step, result.counts[step]) for step, error in enumerate(result.state)]
            failures += [f"{where}: {problem}" for problem in result.missing(MUST.get((name, label), {}))]
            if args.precision == "f64":
                limit = FALLEN_STATE if fallen or changed else STATE
                failures += [f"{where}: {problem}" for problem in result.faults(limit)]
    print(
        f"largest errors of a state in one step ({time.perf_counter() - begin:.0f} s in all, of which MuJoCo took "
        f"{time.process_time():.0f} s of one processor):"
    )
    for error, where, step, counts in sorted(largest, key=lambda row: -row[0])[:8]:
        met = ", ".join(f"{key} {count}" for key, count in counts.items())
        print(f"  {error:.1e}  {where}, step {step}: {met}")
    for failure in failures:
        print(f"FAILED  {failure}")
    sys.exit(int(bool(failures)))


if __name__ == "__main__":
    main()
