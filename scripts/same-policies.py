#!/usr/bin/env python3
"""Compares two builds of the command line: same-policies.py OLD NEW [--isa NAME] [--seeds N].

Each of the algorithms makes three iterations with its preset or its defaults, or as many steps as STEPS says, on one thread, with both
binaries. Their policies must have the same parameters, bit for bit. Names, order and shape of tensors may differ between versions of
snapshots, so the bits of all parameters are compared as a sorted list. Left out are those whose warm-up alone takes minutes (DDPG, TD3, SAC
and PEARL), and NOP, which learns nothing.
"""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

RUNS = [
    ("ppo", "cartpole"),
    ("ppo", "pendulum"),
    ("trpo", "cartpole"),
    ("ppo", "cartpole-no-velocities"),
    ("a2c", "cartpole"),
    ("ppo2", "cartpole"),
    ("vpg", "cartpole"),
    ("svpg", "cartpole"),
    ("cem", "cartpole"),
    ("cem", "pendulum"),
    ("cma-es", "cartpole"),
    ("openai-es", "cartpole"),
    ("ars", "cartpole"),
    ("dqn", "cartpole"),
    ("dql", "cartpole"),
    ("promp", "point-corner"),
    ("maml-ppo", "point-corner"),
    ("maml-vpg", "point-corner"),
    ("maml-trpo", "point-corner"),
    ("e-maml", "point-corner"),
    ("dice-maml", "point-corner"),
    ("rl2-ppo", "bandit"),
    ("rl2-trpo", "bandit"),
]
# Steps of algorithms whose first iteration does not tell how many they plan: of searches, whose episodes end early, and of those that
# begin with a warm-up without updates. The first number is of a run that has learned less, the second one is compared.
STEPS = dict.fromkeys(("cem", "cma-es", "openai-es", "ars"), (100_000, 500_000))
STEPS |= dict.fromkeys(("dqn", "dql"), (2_000, 3_000))
# The policy's, those of value functions and learned step sizes, by their names in snapshots; all else is not of the policy.
PARAMETERS = ("theta", "policy.", "value.", "particle.", "q.", "q1.", "q2.", "inner_lr", "step_sizes")
# What a normaliser learns is state beside the parameters.
NORMALISER = ("mean", "std", "variance", "count", "clip")


def parameters(path):
    """The bits of all parameters in a snapshot, sorted."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    words = []
    for name, tensor in header.items():
        named = name.startswith(PARAMETERS) and name.rpartition(".")[2] not in NORMALISER
        if name == "__metadata__" or not named:
            continue
        begin, end = (8 + size + offset for offset in tensor["data_offsets"])
        words += struct.unpack(f"<{(end - begin) // 4}I", data[begin:end])
    assert words, f"{path}: no parameters among {sorted(header)}"
    return sorted(words)


def train(binary, algorithm, env, steps, seeds, out, isa):
    """Trains and returns the snapshot of each seed."""
    command = [binary, "train", algorithm, "--env", env, "--seed", f"0..{seeds}", "--steps", str(steps)]
    command += ["--threads", "1", "--eval-every", "0", "--out", out]
    environment = os.environ | ({"QUICKSTUDY_ISA": isa} if isa else {})
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}"
    return sorted(pathlib.Path(out).rglob("last.safetensors"))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("old")
    arguments.add_argument("new")
    arguments.add_argument("--isa", help="instruction set, for builds that know QUICKSTUDY_ISA")
    arguments.add_argument("--seeds", type=int, default=1, help="seeds stacked in one run")
    asked = arguments.parse_args()
    different = 0
    for algorithm, env in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            # One step asks for one iteration; its metrics tell how many steps that is.
            first = train(asked.old, algorithm, env, STEPS.get(algorithm, (1, 1))[0], 1, f"{folder}/first", asked.isa)[0].parent
            iteration = int(float((first / "metrics.csv").read_text().splitlines()[-1].split(",")[0]))
            steps = STEPS.get(algorithm, (1, 3 * iteration))[1]
            old, new = (
                [parameters(path) for path in train(binary, algorithm, env, steps, asked.seeds, f"{folder}/{name}", asked.isa)]
                for name, binary in (("old", asked.old), ("new", asked.new))
            )
            less_trained = parameters(first / "last.safetensors")
            assert len(old) == asked.seeds and less_trained != old[0], f"{algorithm}: training changes parameters"
            same = old == new
            different += not same
            print(f"{algorithm:10} {env:22} {len(old[0]):6} parameters, {asked.seeds} seeds: {'the same' if same else 'DIFFERENT'}", flush=True)
    print(f"{len(RUNS) - different} the same, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
