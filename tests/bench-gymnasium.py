#!/usr/bin/env python3
"""Measures environments of Python beside what else steps them: bench-gymnasium.py [PART...] [--repeats N] [--seconds S]

`scripts/bench-gymnasium.sh` makes what it needs, and runs it. The parts:

  loop      64 CartPole-v1 in one worker, beside a loop of Python over 64 of them with seeded resets
  vector    16 HalfCheetah-v5 in two workers, beside AsyncVectorEnv and SyncVectorEnv of Gymnasium
  overhead  1, 8 and 64 environments that do nothing, all on one core, beside a loop over them
  training  PPO on CartPole-v1 with the settings of rl-baselines3-zoo, beside Stable-Baselines3's; one thread each

Each repeat measures all that is compared, one after the other. A row has the medians of all repeats, and the median of
the ratios within them.
"""

import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
MODULES = REPOSITORY / "tests/python"
TRAINED = 25_600  # steps of a training that is timed, after the first fifth


def loop(seconds):
    """Microseconds that a plain loop takes to step 64 CartPole-v1."""
    import gymnasium
    import numpy as np

    dice = np.random.default_rng(1)
    envs = [gymnasium.make("CartPole-v1", disable_env_checker=True) for _ in range(64)]
    for number, env in enumerate(envs):
        env.reset(seed=number)
    actions = dice.integers(0, 2, (256, 64)).tolist()
    seeds = dice.integers(0, 1 << 31, 4096).tolist()
    seen, resets = [None] * 64, 0

    def batch(step):
        nonlocal resets
        chosen = actions[step % 256]
        for i, env in enumerate(envs):
            row, _reward, terminated, truncated, _info = env.step(chosen[i])
            if terminated or truncated:
                row, _info = env.reset(seed=seeds[resets % 4096])
                resets += 1
            seen[i] = row

    return timed(batch, seconds)


def vector(kind, seconds):
    """Microseconds that a vector environment of Gymnasium takes to step 16 HalfCheetah-v5."""
    import gymnasium
    import numpy as np

    make = {"sync": gymnasium.vector.SyncVectorEnv, "async": gymnasium.vector.AsyncVectorEnv}[kind]
    envs = make([lambda: gymnasium.make("HalfCheetah-v5", disable_env_checker=True)] * 16)
    envs.reset(seed=1)
    actions = np.random.default_rng(1).uniform(-1, 1, (256, 16, 6)).astype(np.float32)
    taken = timed(lambda step: envs.step(actions[step % 256]), seconds)
    envs.close()
    return taken


def nothing(seconds):
    """Microseconds that a plain loop takes to step 64 environments that do nothing."""
    sys.path.insert(0, str(MODULES))
    import gymnasium

    envs = [gymnasium.make("envs_under_test:Nothing-v0", disable_env_checker=True) for _ in range(64)]
    for env in envs:
        env.reset()

    def batch(step):
        for env in envs:
            _row, _reward, terminated, truncated, _info = env.step(1)
            if terminated or truncated:
                env.reset()

    return timed(batch, seconds)


def timed(batch, seconds):
    """Microseconds of a batch, after a few that are not counted."""
    for step in range(20):
        batch(step)
    start, made = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for step in range(10):
            batch(made + step)
        made += 10
    return 1e6 * (time.perf_counter() - start) / made


def stable_baselines():
    """Microseconds that a step of training takes Stable-Baselines3."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    ppo = PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", n_envs=8, seed=1),
        n_steps=32,
        batch_size=256,
        n_epochs=20,
        gamma=0.98,
        gae_lambda=0.8,
        ent_coef=0.0,
        learning_rate=lambda left: 1e-3 * left,
        clip_range=lambda left: 0.2 * left,
        policy_kwargs={"net_arch": [64, 64]},
        device="cpu",
        seed=1,
    )
    ppo.learn(TRAINED // 5)
    start = time.perf_counter()
    ppo.learn(TRAINED * 4 // 5)
    return 1e6 * (time.perf_counter() - start) / (TRAINED * 4 // 5)


PEERS = {
    "loop": loop,
    "nothing": nothing,
    "sync": lambda seconds: vector("sync", seconds),
    "async": lambda seconds: vector("async", seconds),
    "sb3": lambda seconds: stable_baselines(),
}


class Bench:
    """Runs what is measured, each in a process of its own."""

    def __init__(self, options):
        self.options = options

    def output(self, command, first, folder=MODULES):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [*first, *map(str, command)]
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{command}: {done.stderr}")
        return done.stdout

    def peer(self, name, first=()):
        python = self.options.stable_baselines if name == "sb3" else sys.executable
        command = [python, Path(__file__).resolve(), "--peer", name, "--seconds", self.options.seconds]
        with tempfile.TemporaryDirectory() as folder:  # MuJoCo writes a file of warnings
            return float(self.output(command, first, folder).split()[-1])

    def ours(self, env, envs, workers, first=()):
        """Microseconds in which our workers step environments."""
        said = self.output(
            [self.options.binary, "bench", "environments", "--env", env, "--envs", envs, "--workers", workers]
            + ["--seconds", self.options.seconds, "--threads", 1, "--python", sys.executable],
            first,
        )
        return float(re.findall(r"[0-9.]+$", said.strip())[0])

    def trained(self):
        """Microseconds that a step of training takes us, by the run's own clock."""
        with tempfile.TemporaryDirectory() as folder:
            self.output(
                [self.options.binary, "train", "ppo", "--env", "gymnasium:CartPole-v1", "--steps", TRAINED]
                + ["--eval-every", 0, "--threads", 1, "--workers", 1, "--python", sys.executable]
                + ["--out", f"{folder}/run"],
                [],
            )
            with open(f"{folder}/run/metrics.csv", newline="") as file:
                rows = [(float(row["time/env_steps"]), float(row["time/seconds"])) for row in csv.DictReader(file)]
        begin = next(row for row in rows if row[0] >= TRAINED / 5)
        return 1e6 * (rows[-1][1] - begin[1]) / (rows[-1][0] - begin[0])

    def repeats(self, *measured):
        """Medians of what is measured in turns, and all rows."""
        rows = [[measure() for measure in measured] for _ in range(self.options.repeats)]
        return [statistics.median(column) for column in zip(*rows)], rows

    def compared(self, ours, name, peers, size, bars):
        """Prints our rate and those of others, and how many times theirs ours is."""
        medians, rows = self.repeats(ours, *(lambda peer=peer: self.peer(peer) for peer in peers))
        print(f"| {name} | {1e6 * size / medians[0]:,.0f} | | |")
        for at, (peer, bar) in enumerate(zip(peers, bars), 1):
            ratio = statistics.median(row[at] / row[0] for row in rows)
            spread = f"{min(row[at] / row[0] for row in rows):.2f} to {max(row[at] / row[0] for row in rows):.2f}"
            print(f"| {peer} | {1e6 * size / medians[at]:,.0f} | {ratio:.2f} ({spread}) | {bar} |", flush=True)

    def overhead(self):
        one_core = ["taskset", "-c", "0"]
        ours = lambda envs: self.ours("gymnasium:envs_under_test:Nothing-v0", envs, 1, one_core)  # noqa: E731
        print("| environments | µs of a step of all | alone, in a loop | overhead, median | least | goal |")
        print("|---|---|---|---|---|---|")
        for envs in (1, 8, 64):
            alone = lambda: self.peer("nothing", one_core) * envs / 64  # noqa: E731
            medians, rows = self.repeats(lambda: ours(envs), alone)
            over = [row[0] - row[1] for row in rows]
            cells = [*medians, statistics.median(over), min(over), 10 + envs / 2]
            print(f"| {envs} | {' | '.join(f'{cell:.1f}' for cell in cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="loop, vector, overhead, training; default: all")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--binary", default=REPOSITORY / "target/release/quickstudy")
    parser.add_argument("--stable-baselines", default="python3", help="an interpreter with Stable-Baselines3")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        print(PEERS[options.peer](options.seconds))
        return
    bench = Bench(options)
    parts = options.parts or ["loop", "vector", "overhead", "training"]
    if set(parts) & {"loop", "vector", "training"}:
        print("| | steps/s | ours, times it | goal |\n|---|---|---|---|")
    if "loop" in parts:
        bench.compared(lambda: bench.ours("gymnasium:CartPole-v1", 64, 1), "64 CartPole-v1", ["loop"], 64, [0.8])
    if "vector" in parts:
        ours = lambda: bench.ours("gymnasium:HalfCheetah-v5", 16, 2)  # noqa: E731
        bench.compared(ours, "16 HalfCheetah-v5", ["async", "sync"], 16, [3.5, 1.6])
    if "training" in parts:
        bench.compared(bench.trained, "PPO on CartPole-v1", ["sb3"], 1, ["–"])
    if "overhead" in parts:
        print()
        bench.overhead()


if __name__ == "__main__":
    main()
