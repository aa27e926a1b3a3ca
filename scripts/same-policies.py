#!/usr/bin/env python3
"""Compares what two builds of the command line learn: same-policies.py OLD NEW [--isa NAME] [--seeds N] [--only WORDS].

Each algorithm makes a few iterations with both binaries, on one thread, by its preset or its defaults, with a short
warm-up where it has one: those of RUNS, and by its first preset each other one that both binaries list. Every tensor of
the last snapshots (a replay buffer too) must have the same bits under the same name; RENAMES says which names of OLD
are others in NEW. So must every number of metrics.csv but those of clocks.
WORDS is a regular expression. The command fails if a tensor differs, and if one run learned nothing: the second half of
an even shorter run must change the parameters. OLD may be NEW: then it checks that training is the same twice.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

# Algorithm, environment, environment steps of a run that has learned less and of the one that is compared, settings.
# An algorithm that is not among them needs no line: see `others`.
OFF_POLICY = "learning_starts=64 batch_size=16 iteration_steps=32"
PEARL = "train_tasks=8 meta_batch=4 num_steps_per_epoch=4 num_tasks_sample=4 batch_size=16 embedding_batch_size=16 "
PEARL += "embedding_mini_batch_size=8"
DUELING = "train_freq=4 gradient_steps=2 n_step=3 prioritised=true dueling=true"
SHORT = "horizon=128 envs=4 minibatches=4 epochs=2"
DETAILS = f"{SHORT} critic=first advantage_scope=rollout value_targets=empirical log_details=true"
RUNNING = f"{SHORT} critic=last advantage_scope=running value_targets=td_lambda critic_learning_rate=0.002"
LIMITED = f"{SHORT} critic=last critic_max_grad_norm=0.3 target_kl=0.002 clip_eps_schedule=linear"
SCALED = f"{SHORT} normalise_observations=true normalise_rewards=true value_clip=false sde=true"
FIRST = "critic=first advantage_scope=rollout normalise_observations=true"
LSTM = "cell=lstm units=8 horizon=64 envs=4 learned_start=true"
TRUSTED = "particle=trpo curvature_share=0.5 horizon=50 normalise_observations=true"
ENTROPY = "entropy_method=max entropy_coef=0.1 normalise_advantages=false"
RUNS = [
    ("ppo", "cartpole", 512, 1_024, ""),
    ("ppo", "pendulum", 4_096, 12_288, ""),
    ("ppo", "acrobot", 4_096, 12_288, "min_rollouts=4"),
    ("ppo", "cartpole-no-velocities", 2_048, 6_144, ""),
    ("trpo", "cartpole", 4_096, 12_288, ""),
    ("trpo", "pendulum", 4_096, 12_288, ""),
    ("a2c", "cartpole", 40, 4_000, ""),
    ("a2c", "pendulum", 40, 4_000, ""),
    ("ppo2", "cartpole", 2_048, 8_192, ""),
    ("vpg", "cartpole", 2_048, 8_192, ""),
    ("vpg", "cartpole", 2_048, 8_192, "baseline=linear_feature"),
    ("svpg", "cartpole", 160, 8_000, ""),
    # Each order of the steps of policy and value function, each kind of target and of standardisation.
    ("ppo", "pendulum", 2_048, 6_144, DETAILS),
    ("ppo", "pendulum", 2_048, 6_144, RUNNING),
    ("ppo", "cartpole", 2_048, 6_144, LIMITED),
    ("ppo", "pendulum", 2_048, 6_144, SCALED),
    ("ppo", "acrobot", 4_096, 40_000, f"min_steps=1000 {FIRST}"),
    ("ppo", "cartpole-no-velocities", 2_048, 6_144, f"{LSTM} critic=last"),
    ("ppo2", "pendulum", 2_048, 6_144, f"{SHORT} critic=first optimiser=sgd max_grad_norm=0"),
    ("a2c", "pendulum", 40, 4_000, "critic=first normalise_advantages=true advantage_scope=running horizon=20"),
    ("a2c", "acrobot", 40, 4_000, "critic=last normalise_rewards=true entropy_coef=0.01 cell=gru units=8"),
    ("vpg", "pendulum", 2_048, 8_192, "critic=joint value_coef=0.3 entropy_coef=0.01 minibatches=4"),
    ("vpg", "pendulum", 2_048, 8_192, "critic=first advantage_scope=running normalise_observations=true"),
    ("vpg", "acrobot", 2_048, 8_192, f"baseline=linear_time {ENTROPY} min_rollouts=4 minibatches=1"),
    ("vpg", "cartpole", 2_048, 8_192, "baseline=zero cell=gru units=8 normalise_rewards=true"),
    ("trpo", "pendulum", 4_096, 8_192, "curvature_share=0.3 normalise_advantages=false normalise_observations=true"),
    ("trpo", "cartpole-no-velocities", 2_048, 4_096, "cell=rnn units=8 horizon=256 envs=4 minibatches=4"),
    ("trpo", "acrobot", 4_096, 8_192, "min_rollouts=5 normalise_rewards=true"),
    ("svpg", "cartpole", 320, 8_000, "particle=ppo epochs=2 critic=last num_particles=3 horizon=20"),
    ("svpg", "pendulum", 320, 8_000, "critic=first normalise_advantages=true num_particles=2 horizon=20 min_std=0.1"),
    ("svpg", "cartpole", 800, 8_000, f"{TRUSTED} critic=last"),
    ("cem", "cartpole", 4_000, 100_000, ""),
    ("cem", "pendulum", 100_000, 500_000, ""),
    ("cma-es", "cartpole", 2_000, 100_000, ""),
    ("cma-es", "pendulum", 100_000, 500_000, ""),
    ("openai-es", "cartpole", 4_000, 100_000, ""),
    ("openai-es", "pendulum", 100_000, 500_000, "learning_rate_schedule=linear"),
    ("ars", "cartpole", 2_000, 100_000, ""),
    ("ars", "pendulum", 100_000, 500_000, "learning_rate_schedule=cosine"),
    ("nop", "cartpole", 400, 10_000, ""),
    ("nop", "pendulum", 20_000, 100_000, ""),
    ("dqn", "cartpole", 2_000, 3_000, ""),
    ("dqn", "mountain-car", 512, 1_024, f"{OFF_POLICY} {DUELING}"),
    ("dql", "cartpole", 2_000, 3_000, ""),
    ("ddpg", "pendulum", 128, 512, OFF_POLICY),
    ("td3", "pendulum", 128, 512, OFF_POLICY),
    ("td3", "pendulum", 128, 512, f"{OFF_POLICY} envs=2 gradient_steps=3 n_step=2"),
    ("sac", "pendulum", 128, 512, OFF_POLICY),
    ("sac", "bit-flip", 128, 512, f"{OFF_POLICY} hindsight=0.8"),
    ("promp", "point-corner", 1, 480_000, ""),
    ("maml-ppo", "point-corner", 1, 480_000, ""),
    ("maml-vpg", "point-corner", 1, 480_000, ""),
    ("maml-trpo", "point-corner", 1, 480_000, ""),
    ("e-maml", "point-corner", 1, 480_000, ""),
    ("dice-maml", "point-corner", 1, 480_000, ""),
    ("rl2-ppo", "bandit", 1, 20_000, ""),
    ("rl2-trpo", "bandit", 1, 20_000, ""),
    ("pearl", "point-robot", 2_000, 8_000, PEARL),
]
# Names of tensors in OLD, as regular expressions, and what stands for them in NEW.
RENAMES: list[tuple[str, str]] = []
# Columns of metrics that tell the time.
CLOCKS = ("time/seconds", "time/sps")
# What only numbers a run changes whether anything is learned or not.
PARAMETERS = ("theta", "policy.", "value.", "particle.", "q.", "critic.")


def tensors(file):
    """Every tensor of a snapshot: its shape and its bytes, by name."""
    data = file.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    found = {}
    for name, tensor in header.items():
        begin, end = (8 + size + offset for offset in tensor["data_offsets"])
        found[name] = (tensor["dtype"], tensor["shape"], data[begin:end])
    return found


def metrics(file):
    """The columns of a table of metrics but those of clocks, by name."""
    names, *rows = csv.reader(file.read_text().splitlines())
    columns = {name: ("metric", [len(rows)], column) for name, *column in zip(names, *rows)}
    return {f"metrics.csv/{name}": column for name, column in columns.items() if name not in CLOCKS}


def renamed(found):
    """The tensors of OLD by their names in NEW."""
    for pattern, name in RENAMES:
        found = {re.sub(pattern, name, known): tensor for known, tensor in found.items()}
    return found


def train(binary, run, steps, seeds, out, isa):
    """Trains, and returns the last snapshot of each seed with everything in it."""
    algorithm, env, _, _, settings = run
    command = [binary, "train", algorithm, "--env", env, "--seed", f"0..{seeds}", "--steps", str(steps)]
    command += ["--threads", "1", "--eval-every", "0", "--out", out]
    command += [word for setting in settings.split() for word in ("--set", setting)]
    environment = os.environ | ({"QUICKSTUDY_ISA": isa} if isa else {})

    def call(command):
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}"

    call(command)
    snapshots = []
    for number, last in enumerate(sorted(pathlib.Path(out).rglob("last.safetensors"))):
        whole = pathlib.Path(f"{out}-{number}.safetensors")
        call([binary, "export", str(last.parent), "-o", str(whole)])
        snapshots.append(tensors(whole) | metrics(last.parent / "metrics.csv"))
    assert len(snapshots) == seeds, f"{algorithm}: {len(snapshots)} snapshots of {seeds} seeds"
    return snapshots


def listed(binary, part):
    """The names in a part of what a build lists."""
    lines = subprocess.run([binary, "list", part], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split()[0] for line in lines[1:] if re.match(r"  \S", line)]


def others(old, new):
    """Runs of the algorithms that both builds list and RUNS does not have: of one step, and of two iterations."""
    both = [name for name in listed(new, "algorithms") if name in listed(old, "algorithms")]
    presets = listed(new, "presets")
    known = listed(new, "algorithms")
    for algorithm in (name for name in both if name not in {run[0] for run in RUNS}):
        # `a-b` may be the algorithm `a` on `b`, but not where there is an algorithm `a-b`.
        longer = [name for name in known if name.startswith(f"{algorithm}-")]
        own = [name for name in presets if name.startswith(f"{algorithm}-") and not name.startswith(tuple(longer))]
        assert own, f"{algorithm} has no preset: give it one, or a line in RUNS"
        env = own[0].removeprefix(f"{algorithm}-")
        with tempfile.TemporaryDirectory() as folder:
            train(new, (algorithm, env, 0, 0, ""), 1, 1, f"{folder}/one", None)
            with open(next(pathlib.Path(folder).rglob("metrics.csv"))) as file:
                made = int(float(list(csv.DictReader(file))[-1]["time/env_steps"]))
        yield algorithm, env, 1, made + 1, ""


def differences(old, new):
    """Names of tensors that are not the same in both."""
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("old")
    arguments.add_argument("new")
    arguments.add_argument("--isa", help="instruction set, for builds that know QUICKSTUDY_ISA")
    arguments.add_argument("--seeds", type=int, default=1, help="seeds stacked in one run")
    arguments.add_argument("--only", default="", help="compare runs alone whose line has these words")
    asked = arguments.parse_args()
    different, compared = 0, 0
    for run in [*RUNS, *others(asked.old, asked.new)]:
        algorithm, env, fewer, steps, settings = run
        line = f"{algorithm} {env} {settings}"
        if not re.search(asked.only, line):
            continue
        with tempfile.TemporaryDirectory() as folder:
            less_trained = train(asked.old, run, fewer, 1, f"{folder}/fewer", asked.isa)[0]
            old = [renamed(found) for found in train(asked.old, run, steps, asked.seeds, f"{folder}/old", asked.isa)]
            new = train(asked.new, run, steps, asked.seeds, f"{folder}/new", asked.isa)
        learned = [name for name in differences(renamed(less_trained), old[0]) if name.startswith(PARAMETERS)]
        assert learned or algorithm == "nop", f"{line}: training changes no parameters"
        names = sorted({name for pair in zip(old, new) for name in differences(*pair)})
        different += bool(names)
        compared += 1
        said = f"DIFFERENT: {', '.join(names)}" if names else "the same"
        print(f"{line[:70]:70} {len(old[0]):3} tensors and metrics, {asked.seeds} seeds: {said}", flush=True)
    print(f"{compared - different} the same, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
