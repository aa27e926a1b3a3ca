"""Compares what Weights & Biases (offline) and MLflow have stored with the files of runs: check-tracking.py RUN…"""

import json
import struct
import sys
import tomllib
from pathlib import Path

import mlflow
from wandb.proto import wandb_internal_pb2


def records(path):
    """The records of a file of an offline run: blocks of 32 KiB, records in one or several chunks, as LevelDB's log."""
    data, at, parts = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        length, kind = struct.unpack_from("<HB", data, at + 4)
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield wandb_internal_pb2.Record.FromString(parts)
            parts = b""


def name_of(item):
    return item.key or "/".join(item.nested_key)


def offline_runs():
    """Name, configuration, rows and summary of each offline run of Weights & Biases."""
    for path in sorted(Path("wandb").glob("offline-run-*/*.wandb")):
        name, config, rows, summary = "", {}, [], {}
        for record in records(path):
            kind = record.WhichOneof("record_type")
            if kind == "run":
                name = name or record.run.display_name
            updates = record.run.config.update if kind == "run" else record.config.update if kind == "config" else []
            config |= {name_of(item): json.loads(item.value_json) for item in updates}
            if kind == "history":
                rows.append({name_of(item): json.loads(item.value_json) for item in record.history.item})
            if kind == "summary":
                summary |= {name_of(item): json.loads(item.value_json) for item in record.summary.update}
        yield name, config, rows, summary


def main(folders):
    runs = {path.name: path for path in map(Path, folders)}
    wandb_runs = {name: rest for name, *rest in offline_runs()}
    mlflow_runs = mlflow.search_runs(experiment_names=["quickstudy"], output_format="list")
    mlflow_runs = {run.info.run_name: run for run in mlflow_runs}
    assert set(mlflow_runs) == set(runs), (set(mlflow_runs), set(runs))
    live = set(wandb_runs) - set(runs)
    assert len(live) == 1 and set(runs) <= set(wandb_runs), (set(wandb_runs), set(runs))
    for name, path in runs.items():
        settings = tomllib.loads((path / "config.toml").read_text())
        rows = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
        config, history, summary = wandb_runs[name]
        assert settings.items() <= config.items(), (settings, config)
        logged = [{key: value for key, value in row.items() if key in rows[0] or "/" in key} for row in history]
        assert logged == rows, f"{name}: {len(logged)} rows of {len(rows)}"
        policy = summary.get("policy") or {
            key.removeprefix("policy/"): value for key, value in summary.items() if key.startswith("policy")
        }
        run = mlflow_runs[name]
        assert run.data.params == {key: str(value) for key, value in settings.items()}, run.data.params
        client = mlflow.MlflowClient()
        for metric in rows[-1]:
            stored = [(item.step, item.value) for item in client.get_metric_history(run.info.run_id, metric)]
            ours = [(row["time/env_steps"], row[metric]) for row in rows if metric in row]
            assert stored == ours, (metric, stored, ours)
        mean = run.data.metrics["policy/return_mean"]
        assert policy["return_mean"] == mean > 0, (policy, mean)
        print(f"{name}: {len(rows)} rows, {len(settings)} settings, return_mean {mean} in both")
    rows = wandb_runs[live.pop()][1]
    assert len(rows) > 5 and rows[-1]["time/env_steps"] >= 20_000, rows[-1:]
    print(f"live: {len(rows)} rows")


main(sys.argv[1:])
