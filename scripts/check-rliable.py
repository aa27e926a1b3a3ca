#!/usr/bin/env python3
"""Compares `quickstudy compare` with rliable 1.2.0 on real runs: check-rliable.py BINARY, where rliable is installed.

The runs are tests/golden/rliable_runs.json: evaluations of PPO and A2C, ten seeds each, 10,000 steps of CartPole and
Pendulum. `check-rliable.py --write` writes rliable's statistics of them, with intervals from 50,000 resamples, into
tests/golden/rliable.json, which tests in Rust read; that takes ten minutes. `check-rliable.py --runs FOLDER` writes
the runs themselves from the run folders in FOLDER, named as `quickstudy train` names them: those of `train ALGORITHM
--env ENVIRONMENT --steps 10k --seed 0..10 --eval-every 2k`.

scripts/check-rliable.sh makes the environment. rliable imports arch, which needs pandas below 3.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
RUNS, WRITTEN = GOLDEN / "rliable_runs.json", GOLDEN / "rliable.json"
ENVIRONMENTS, METHODS = ["cartpole", "pendulum"], ["ppo", "a2c"]
# Random and published scores, as native-cli/src/results/comparison/references.rs has them.
REFERENCES = {"cartpole": (22.3, 500.0), "pendulum": (-1233.9, -151.3)}
TAUS = [i / 80 for i in range(0, 81, 10)]
# The fewest evaluations of a run until the budget: those of PPO on Pendulum.
FRAMES = 2


def read_runs(folder):
    """Evaluations of each run as pairs of steps and returns."""
    runs = {}
    for env in ENVIRONMENTS:
        for method in METHODS:
            for seed in range(10):
                with open(Path(folder) / f"{env}-{method}-s{seed}" / "metrics.csv") as file:
                    rows = [row for row in csv.DictReader(file) if row["eval/return_mean"]]
                points = [[int(row["time/env_steps"]), float(row["eval/return_mean"])] for row in rows]
                runs.setdefault(env, {}).setdefault(method, []).append(points)
    return runs


def at_frames(runs):
    """The runs with values at even shares of each budget, the last ones until then: statistics of both are of these,
    whatever the score of a run between its evaluations is."""
    placed = {}
    for env, methods in runs.items():
        budget = min(points[-1][0] for all_runs in methods.values() for points in all_runs)
        shares = [budget * (frame + 1) // FRAMES for frame in range(FRAMES)]
        last = lambda points, steps: [point[1] for point in points if point[0] <= steps][-1]
        at_shares = lambda points: [[steps, last(points, steps)] for steps in shares]
        placed[env] = {method: [at_shares(points) for points in all_runs] for method, all_runs in methods.items()}
    return placed


def scores(runs, method, frame=FRAMES - 1, environments=None):
    """A matrix of runs by environments; normalised ones over all environments, raw ones of those that are named."""
    import numpy as np

    columns = []
    for env in environments or ENVIRONMENTS:
        low, high = (0.0, 1.0) if environments else REFERENCES[env]
        columns.append([(points[frame][1] - low) / (high - low) for points in runs[env][method]])
    return np.array(columns).T


def statistics(runs, resamples, batches):
    """rliable's numbers: for each key value, low, high, and the deviation of both ends over intervals of 2,000."""
    import numpy as np
    from rliable import library, metrics

    def estimates(data, names, function):
        np.random.seed(0)
        point, interval = library.get_interval_estimates({"x": data}, function, reps=resamples)
        ends = []
        for _ in range(batches):
            ends.append(library.get_interval_estimates({"x": data}, function, reps=2000)[1]["x"])
        # A guess from few batches may be too low by chance, but not by half.
        spread = np.std(ends, axis=0, ddof=1) if batches > 1 else np.zeros_like(interval["x"])
        rows = zip(names, np.atleast_1d(point["x"]), *interval["x"], *spread)
        return {name: [float(number) for number in numbers] for name, *numbers in rows}

    found = {}
    for method in METHODS:
        both = scores(runs, method)
        names = ("mean", "median", "iqm", "optimality_gap")
        four = [getattr(metrics, f"aggregate_{name}") for name in names]
        names = [f"{method} {name}" for name in names]
        found |= estimates(both, names, lambda x: np.array([one(x) for one in four]))
        for env in ENVIRONMENTS:
            raw = scores(runs, method, environments=[env])
            names = [f"{method} {env} {name}" for name in ("mean", "iqm")]
            found |= estimates(raw, names, lambda x: np.array([metrics.aggregate_mean(x), metrics.aggregate_iqm(x)]))
        names = [f"{method} runs_above {tau}" for tau in TAUS]
        found |= estimates(both, names, lambda x: library.score_distributions(x, TAUS))
        for tau, above in zip(TAUS, library.average_score_distributions(both, TAUS)):
            found[f"{method} means_above {tau}"] = [float(above)]
        frames = np.stack([scores(runs, method, frame) for frame in range(FRAMES)], axis=2)
        names = [f"{method} efficiency {frame}" for frame in range(FRAMES)]
        iqm = lambda x: np.array([metrics.aggregate_iqm(x[..., frame]) for frame in range(FRAMES)])
        found |= estimates(frames, names, iqm)
    pair = [scores(runs, method) for method in METHODS]
    found |= estimates(pair, ["ppo improvement a2c"], lambda x, y: np.array([metrics.probability_of_improvement(x, y)]))
    return found


def ours(binary, runs, resamples):
    """The same numbers by the command line, from run folders made of the runs."""
    with tempfile.TemporaryDirectory() as folder:
        for env in ENVIRONMENTS:
            for method in METHODS:
                for seed, points in enumerate(runs[env][method]):
                    run = Path(folder) / f"{method}-{env}-{seed}"
                    run.mkdir()
                    text = f'algorithm = "{method}"\nenv = "{env}"\nseed = {seed}\n'
                    (run / "config.toml").write_text(text)
                    rows = "".join(f"{steps},{score!r}\n" for steps, score in points)
                    (run / "metrics.csv").write_text("time/env_steps,eval/return_mean\n" + rows)
        # Experiments are in the order of their folders' names.
        command = [binary, "compare", folder, "--json", "--resamples", str(resamples), "--baseline", "a2c"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found = {}
    frames = {}
    for line in map(json.loads, lines):
        if line["type"] not in ("aggregate", "profile", "efficiency", "improvement"):
            continue
        numbers = [line["value"], line["low"], line["high"]]
        method, name = line["experiment"], line["statistic"]
        if line["type"] == "improvement":
            found[f"{method} improvement {line['over']}"] = numbers
        elif len(line["environments"]) == 1:
            if line["type"] == "aggregate":
                found[f"{method} {line['environments'][0]} {name}"] = numbers
        elif line["type"] == "profile":
            found[f"{method} {name} {line['at']}"] = numbers
        elif line["type"] == "efficiency":
            frames[method] = frames.get(method, -1) + 1
            found[f"{method} efficiency {frames[method]}"] = numbers
        else:
            found[f"{method} {name}"] = numbers
    return found


def compare(binary, runs):
    resamples = 10_000
    mine, theirs = ours(binary, runs, resamples), statistics(runs, 2_000, 1)
    deviations = json.loads(WRITTEN.read_text())["statistics"]
    wrong = []
    for name, (point, *ends) in theirs.items():
        mine_point, *mine_ends = mine[name]
        if abs(mine_point - point) > 1e-12 * max(1.0, abs(point)):
            wrong.append(f"{name}: {mine_point!r}, by rliable {point!r}")
        for mine_end, end, deviation in zip(mine_ends, ends[:2], deviations[name][3:]):
            # The difference of ends from 10,000 and from 2,000 resamples, five deviations of it.
            if abs(mine_end - end) > 5 * deviation * (1 + 2_000 / resamples) ** 0.5 + 1e-12 * max(1.0, abs(end)):
                wrong.append(f"{name}: end of the interval {mine_end!r}, by rliable {end!r} ± {deviation:.2g}")
    print("\n".join(wrong) or f"{len(theirs)} statistics and their intervals are rliable's")
    return 1 if wrong else 0


def main(arguments):
    if arguments[:1] == ["--runs"]:
        RUNS.write_text(json.dumps(read_runs(arguments[1])).replace("]], [[", "]],\n[[") + "\n")
        return 0
    runs = at_frames(json.loads(RUNS.read_text()))
    if arguments == ["--write"]:
        from importlib.metadata import version

        head = {"made_by": "scripts/check-rliable.py --write", "rliable": version("rliable"), "resamples": 50_000}
        found = statistics(runs, 50_000, 10)
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in found.items())
        WRITTEN.write_text(json.dumps(head)[:-1] + ',\n"statistics": {\n' + lines + "\n}}\n")
        return 0
    if len(arguments) != 1:
        print(__doc__)
        return 2
    return compare(arguments[0], runs)


sys.exit(main(sys.argv[1:]))
