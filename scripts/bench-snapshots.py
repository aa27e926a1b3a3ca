#!/usr/bin/env python3
"""Measures what snapshots cost SAC with a full replay buffer of a million rows: bench-snapshots.py [--pairs N]
[--seconds S] [FLAG...]

It trains on an environment of HalfCheetah's width (native-cli/examples/wide_env.rs), 256x256 networks and batches of
256, from a memory that was filled once: with a snapshot every 5 seconds and without any, in turns. A line tells the
steps per second of each pair; the last one has the medians, and the median of the ratios. FLAGs are those of `train`,
such as `--threads 2`; `--binary` names a build of the example instead of making one. It needs a gigabyte in the
temporary folder, and a minute or two until the memory is full.
"""

import argparse
import csv
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
BUILD = ["cargo", "build", "--release", "-q", "-p", "quickstudy", "--example", "wide_env"]
BINARY = REPOSITORY / "target/release/examples/wide_env"
ROWS = 1_000_000
NEVER = 100_000_000


def train(options, *arguments):
    subprocess.run(
        [options.binary, "train", *map(str, arguments), *options.flags], check=True, stdout=subprocess.DEVNULL
    )


def speed(options, filled, folder, steps, save_every):
    """Steps per second of so many steps after the memory is full; the row after a resume's first iteration is where the
    clock starts.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(filled, folder)
    # Else the first snapshot would wait until the copy is on the disk.
    os.sync()
    with open(folder / "metrics.csv", newline="") as file:
        before = int(list(csv.DictReader(file))[-1]["time/env_steps"])
    how = ["--steps", before + steps, "--eval-every", 0, "--log-every", 1, "--save-every", save_every]
    train(options, "--resume", folder, *how)
    with open(folder / "metrics.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["time/env_steps"]) > before]
    made = int(rows[-1]["time/env_steps"]) - int(rows[0]["time/env_steps"])
    return made / (float(rows[-1]["time/seconds"]) - float(rows[0]["time/seconds"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--binary", type=Path)
    options, flags = parser.parse_known_args()
    options.flags = flags
    if options.binary is None:
        subprocess.run(BUILD, cwd=REPOSITORY, check=True)
        options.binary = BINARY
    with tempfile.TemporaryDirectory() as scratch:
        filled, folder = Path(scratch) / "filled", Path(scratch) / "run"
        settings = ["hidden=[256,256]", "batch_size=256", f"memory_size={ROWS}", f"learning_starts={ROWS}"]
        settings = [word for setting in settings for word in ("--set", setting)]
        train(options, "sac", "--env", "wide", "--steps", ROWS + 200, "--eval-every", 0, *settings, "--out", filled)
        steps = 100 * max(int(speed(options, filled, folder, 300, NEVER) * options.seconds / 100), 2)
        print(f"{steps} steps each")
        found = []
        for pair in range(options.pairs):
            # Whatever changes with time meets both alike.
            order = [5, NEVER] if pair % 2 == 0 else [NEVER, 5]
            of = {save_every: speed(options, filled, folder, steps, save_every) for save_every in order}
            found.append((of[5], of[NEVER]))
            print(f"with snapshots {of[5]:.1f}, without {of[NEVER]:.1f}, ratio {of[5] / of[NEVER]:.4f}", flush=True)
        medians = [statistics.median(column) for column in zip(*found)]
        ratio = statistics.median(one / other for one, other in found)
        print(f"medians {medians[0]:.1f} and {medians[1]:.1f} steps/s; ratio {ratio:.4f}")


if __name__ == "__main__":
    main()
