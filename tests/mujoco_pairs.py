"""Whole episodes of uniform actions in MuJoCo and here, for `compare-mujoco.py --pairs N`.

`pairs` plays each episode in both from the same first state with the same actions, MuJoCo with tolerance 0, and here
in f64. It prints the largest error of single steps from MuJoCo's states, that of states along whole episodes, in which
each side goes on from its own, and the mean difference of returns. It fails where a single step is off by more than
1e-9, or where the mean difference is above three standard errors and above what rounding makes.

`distributions` compares what pairs cannot see: first states that each side draws for itself, and the returns of uniform
actions from them, in Gymnasium as it is made. It prints how many standard errors means and variances differ by, and
fails above four.
"""

import subprocess
import time

import gymnasium
import numpy as np

# The name here, and that of Gymnasium.
ENVIRONMENTS = {
    "inverted-pendulum": "InvertedPendulum",
    "inverted-double-pendulum": "InvertedDoublePendulum",
    "reacher": "Reacher",
    "swimmer": "Swimmer",
    "hopper": "Hopper",
    "walker2d": "Walker2d",
    "hopper-rand-params": "Hopper",
    "walker2d-rand-params": "Walker2d",
    "half-cheetah": "HalfCheetah",
}
# The bound of errors of single steps, relative to 1 + |value|, and that of returns where only rounding differs.
STEP, ROUNDING = 1e-9, 1e-9
# Standard errors by which no mean or variance of what each side draws may differ.
SURPRISE = 4.0
# Steps that one call of the program makes at most.
CHUNK = 100_000


def state_of(name, qpos, qvel, qacc):
    """Our state of MuJoCo's."""
    if name == "reacher":  # joints 0 and 1 are the arm, 2 and 3 the target; the fingertip is not read
        return np.concatenate([qpos[:2], qvel[:2], qacc[:2], qpos[2:], [0, 0]])
    if name == "inverted-double-pendulum":  # nor is the force
        return np.concatenate([qpos, qvel, qacc, [0]])
    return np.concatenate([qpos, qvel, qacc])


class Program:
    """This project's environment, as `steps-under-test` makes it."""

    def __init__(self, program, name):
        self.program, self.name = program, name
        self.state, self.action, self.seen, _ = map(int, self.run("sizes").split())

    def run(self, *arguments, records=None):
        given = b"" if records is None else np.ascontiguousarray(records, dtype=float).tobytes()
        command = [self.program, self.name, *arguments]
        return subprocess.run(command, input=given, capture_output=True, check=True).stdout

    def steps(self, records):
        """A row of state, observation, reward and end for each record of a state and an action."""
        return np.frombuffer(self.run(records=records)).reshape(len(records), -1)

    def episodes(self, firsts, actions):
        """Rows of steps of episodes: `[episodes, steps, state + observation + 2]`, zeros after an end."""
        records = np.concatenate([firsts, actions.reshape(len(actions), -1)], axis=1)
        rows = np.frombuffer(self.run("episodes", records=records))
        return rows.reshape(*actions.shape[:2], self.state + self.seen + 2)

    def resets(self, episodes, seed):
        return np.frombuffer(self.run("resets", str(episodes), str(seed))).reshape(episodes, self.state)


def horizon(name):
    return gymnasium.spec(f"{ENVIRONMENTS[name]}-v5").max_episode_steps


def chunks(name, episodes):
    """Numbers of episodes whose steps fit one call of the program."""
    size = max(1, CHUNK // horizon(name))
    return [min(size, episodes - begin) for begin in range(0, episodes, size)]


def numbers_of(name, joints):
    """Where positions and speeds lie in our state, and their names."""
    places = {f"position {i + 1}": i for i in range(joints)} | {f"speed {i + 1}": joints + i for i in range(joints)}
    return places | ({"target x": 6, "target y": 7} if name == "reacher" else {})


def play(env, name, actions):
    """An episode in MuJoCo from where it is: a row like this project's for each step, and our state before it."""
    data, rows, befores = env.data, [], []
    for action in actions:
        befores.append(state_of(name, data.qpos, data.qvel, data.qacc_warmstart))
        seen, reward, ended, _, _ = env.step(action)
        rows.append(np.concatenate([state_of(name, data.qpos, data.qvel, data.qacc_warmstart), seen, [reward, ended]]))
        if ended:
            break
    return rows, befores


def pairs(program, name, episodes, seed):
    """Compares episodes from the same first states with the same actions."""
    since = time.perf_counter()
    here = Program(program, name)
    env = gymnasium.make(f"{ENVIRONMENTS[name]}-v5").unwrapped
    env.model.opt.tolerance = 0.0
    rng = np.random.default_rng(seed)
    low, high = env.model.actuator_ctrlrange.T
    env.reset(seed=seed)
    places = list(numbers_of(name, 2 if name == "reacher" else env.model.nv).values())
    # Largest errors of states, observations and rewards: of single steps, and along episodes.
    single, along = np.zeros(3), np.zeros(3)
    differences, returns, steps, ends = [], [], 0, 0

    def errors(theirs, ours):
        apart = np.abs(ours - theirs) / (1 + np.abs(theirs))
        return np.array([part.max() for part in (apart[:, places], apart[:, here.state : -2], apart[:, -2])])

    for size in chunks(name, episodes):
        actions = rng.uniform(low, high, (size, horizon(name), here.action))
        played = []
        for episode in actions:
            env.reset()
            played.append(play(env, name, episode))
        theirs, befores = (np.concatenate(column) for column in zip(*played, strict=True))
        lengths = [len(rows) for rows, _ in played]
        taken = np.concatenate([episode[:length] for episode, length in zip(actions, lengths, strict=True)])
        own = here.episodes(np.array([before[0] for _, before in played]), actions)
        stepped = here.steps(np.concatenate([befores, taken], axis=1))
        single = np.maximum(single, errors(theirs, stepped))
        followed = np.concatenate([rows[:length] for rows, length in zip(own, lengths, strict=True)])
        along = np.maximum(along, errors(theirs, followed))
        ends += int((stepped[:, -1] != theirs[:, -1]).sum())
        steps += len(theirs)
        returns += [sum(row[-2] for row in rows) for rows, _ in played]
        differences += list(own[:, :, -2].sum(axis=1))
    differences = np.array(differences) - returns
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(episodes)
    agree = abs(mean) <= max(3 * error, ROUNDING * (1 + abs(np.mean(returns))))
    print(
        f"{name}: {episodes} episodes from the same first states, {steps} steps ({time.perf_counter() - since:.0f} s)\n"
        f"  single steps: state {single[0]:.1e}, observation {single[1]:.1e}, reward {single[2]:.1e}, "
        f"{ends} ends differ\n"
        f"  along episodes: state {along[0]:.1e}, observation {along[1]:.1e}, reward {along[2]:.1e}\n"
        f"  return in MuJoCo {np.mean(returns):.4f}, difference {mean:.1e} ± {error:.1e}, "
        f"largest {np.abs(differences).max():.1e}",
        flush=True,
    )
    return agree and single.max() <= STEP and ends == 0


def apart(theirs, ours):
    """By how many standard errors means and variances differ."""

    def moments(x):
        # Of the mean and of the variance: the value, and its squared standard error.
        squares = (x - x.mean()) ** 2
        return np.array([[x.mean(), squares.mean()], [x.var() / len(x), squares.var() / len(x)]])

    (theirs, their_error), (ours, our_error) = moments(theirs), moments(ours)
    return (ours - theirs) / np.sqrt(their_error + our_error)


def distributions(program, name, episodes, seed):
    """Compares first states that each side draws, and the returns of uniform actions from them."""
    since = time.perf_counter()
    here = Program(program, name)
    env = gymnasium.make(f"{ENVIRONMENTS[name]}-v5").unwrapped
    rng = np.random.default_rng(seed + 1)
    low, high = env.model.actuator_ctrlrange.T
    env.reset(seed=seed + 1)
    firsts, returns = here.resets(episodes, seed + 1), ([], [])
    starts, begin = [], 0
    for size in chunks(name, episodes):
        # Each side has actions of its own.
        actions, own = rng.uniform(low, high, (2, size, horizon(name), here.action))
        for episode in actions:
            env.reset()
            rows, befores = play(env, name, episode)
            starts.append(befores[0])
            returns[0].append(sum(row[-2] for row in rows))
        returns[1].extend(here.episodes(firsts[begin : begin + size], own)[:, :, -2].sum(axis=1))
        begin += size
    starts = np.array(starts)
    places = numbers_of(name, 2 if name == "reacher" else env.model.nv)
    columns = {what: (starts[:, place], firsts[:, place]) for what, place in places.items()}
    if name == "reacher":
        columns["target radius"] = tuple(np.hypot(side[:, 6], side[:, 7]) for side in (starts, firsts))
        columns["target angle"] = tuple(np.arctan2(side[:, 7], side[:, 6]) for side in (starts, firsts))
    columns["return"] = tuple(map(np.array, returns))
    print(f"{name}: {episodes} first states and episodes of each side's own ({time.perf_counter() - since:.0f} s)")
    print(f"  {'':15}{'mean':>12}{'here':>12}{'variance':>12}{'here':>12}{'z of mean':>12}{'of variance':>12}")
    most = 0.0
    for what, (theirs, ours) in columns.items():
        scores = apart(theirs, ours)
        most = max(most, np.abs(scores).max())
        numbers = f"{theirs.mean():12.5g}{ours.mean():12.5g}{theirs.var():12.5g}{ours.var():12.5g}"
        print(f"  {what:15}{numbers}{scores[0]:12.2f}{scores[1]:12.2f}", flush=True)
    return most <= SURPRISE
