"""Training by the command line."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quickstudy
from quickstudy import _command, _training

SMALL: dict[str, Any] = {"hidden": [8], "envs": 2, "horizon": 16, "minibatches": 2, "epochs": 1, "threads": 1}


def ended(training: quickstudy.Training, seconds: float = 20.0) -> bool:
    """Wait until the process has ended."""
    assert training._process is not None
    until = time.monotonic() + seconds
    while training._process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    return training._process.poll() is not None


def test_rows_are_those_of_the_metrics() -> None:
    training = quickstudy.train("ppo", "cartpole", out="run", seed=4, steps=1000, log_every=1, eval_every=500, **SMALL)
    rows = list(training)
    assert training.run == Path("run")
    assert len(rows) > 10 and [row["time/iterations"] for row in rows] == list(range(1, len(rows) + 1))
    assert "eval/return_mean" in rows[-1] and "eval/return_mean" not in rows[0]
    assert all(isinstance(value, (int, float)) for row in rows for value in row.values())
    table = quickstudy.metrics("run")
    assert np.array_equal(table["time/env_steps"], [row["time/env_steps"] for row in rows])
    for name, column in table.items():
        np.testing.assert_array_equal(column, [row.get(name, np.nan) for row in rows])
    assert quickstudy.metrics("run/metrics.csv").keys() == table.keys()
    # They are read once more where one asks again.
    assert list(training) == rows
    config = Path("run/config.toml").read_text()
    assert "seed = 4" in config and "hidden = [8]" in config and quickstudy.load("run").seed == 4


def test_rows_come_while_training_goes_on() -> None:
    with quickstudy.train("ppo", "cartpole", out="run", steps=10**9, log_every=1, eval_every=0, **SMALL) as training:
        row = next(iter_kept := iter(training))
        assert row["time/iterations"] == 1 and training._process is not None and training._process.poll() is None
        assert next(iter_kept)["time/iterations"] == 2
    assert ended(training)


def test_ctrl_c_reaches_a_run_once() -> None:
    program = "import quickstudy as q\nfor row in q.train('ppo', 'cartpole', out='run', steps=10**9, eval_every=0):"
    loop = subprocess.Popen(
        [sys.executable, "-c", f"{program}\n    print(row, flush=True)"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # Where the tests run in the background of a script, Ctrl-C is ignored, and programs inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert loop.stdout is not None
    loop.stdout.readline()
    os.killpg(loop.pid, signal.SIGINT)  # as a terminal does, to all processes of the group
    _, said = loop.communicate(timeout=90)
    assert b"KeyboardInterrupt" in said and quickstudy.load("run", last=True).steps > 0
    with quickstudy.train("ppo", "cartpole", out="other", steps=10**9) as training:
        assert training._process is not None and os.getpgid(training._process.pid) != os.getpgid(0)


def follows(run: str) -> list[str]:
    """Give the processes that train in a folder, of all there are."""
    listed = subprocess.run(
        ["ps", "-e", "-ww", "-o", "stat=", "-o", "args="], capture_output=True, text=True, check=True
    ).stdout
    return [line for line in listed.splitlines() if f"--out {run} " in line and not line.startswith("Z")]


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("way", ["SIGKILL", "SIGTERM", "fork"])
def test_a_training_ends_with_the_process_that_has_begun_it(way: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    # What has forked meanwhile goes on, as workers of multiprocessing do, and must not keep the training.
    fork = "import os, time\nif os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\n" if way == "fork" else ""
    program = (
        f"import quickstudy as q\ntraining = q.train('ppo', 'cartpole', out={str(run)!r}, steps=10**9, eval_every=0)\n"
        f"{fork}for row in training:\n    print(row, flush=True)"
    )
    loop = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert loop.stdout is not None
    loop.stdout.readline()
    assert follows(str(run))
    loop.send_signal(signal.SIGTERM if way == "SIGTERM" else signal.SIGKILL)
    loop.wait()
    until = time.monotonic() + 30
    while follows(str(run)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not follows(str(run))
    assert quickstudy.load(run, last=True).steps > 0


@pytest.mark.parametrize("way", ["break", "with", "stop", "forget", "raise"])
def test_a_loop_that_is_left_stops_the_run_which_can_be_resumed(way: str) -> None:
    training = quickstudy.train("ppo", "cartpole", out="run", steps=10**9, eval_every=0, **SMALL)
    process = training._process
    assert process is not None
    if way == "break":
        for _ in training:
            break
    elif way == "with":
        with training:
            next(iter(training))
    elif way == "stop":
        rows = iter(training)
        next(rows)
        training.stop()
        list(rows)  # ends without an error
    elif way == "raise":
        with pytest.raises(ZeroDivisionError):
            for row in training:
                row["time/env_steps"] / 0
    else:
        next(rows := iter(training))
        del rows, training
        gc.collect()
    assert process.poll() == 0
    made = quickstudy.load("run", last=True).steps
    assert made > 0
    resumed = subprocess.run(
        [_command.command(), "train", "--resume", "run", "--steps", str(made + 100)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert resumed.returncode == 0, resumed.stderr
    assert quickstudy.metrics("run")["time/env_steps"][-1] >= made + 100


def test_failures_have_the_message_of_the_command_line() -> None:
    for arguments, said in [
        (("pbo", "cartpole"), "unknown algorithm `pbo`"),
        (("ppo", "cartpol"), "unknown environment `cartpol`"),
        (("dqn", "pendulum"), "continuous actions"),
    ]:
        with pytest.raises(quickstudy.Error, match=said) as caught:
            quickstudy.train(*arguments, out="run").wait()
        assert not str(caught.value).startswith("error")
    with pytest.raises(quickstudy.Error, match="unknown key `hiden`, did you mean `hidden`?"):
        list(quickstudy.train("ppo", "cartpole", out="run", hiden=[8]))
    with pytest.raises(quickstudy.Error, match="is no value of a setting"):
        quickstudy.train("ppo", "cartpole", out="other", hidden={"a": 1})
    assert not Path("other").exists()
    with pytest.raises(quickstudy.Error, match="no metrics"):
        quickstudy.metrics("nowhere")


def test_what_fails_leaves_no_folder() -> None:
    for arguments, said in [
        ({"seed": [0, 1]}, r"seed is \[0, 1\], expected a whole number from 0.*--seed 0,1"),
        ({"seed": "0..3"}, "seed is '0..3'"),
        ({"seed": True}, "seed is True"),
        ({"seed": -1}, "seed is -1"),
        ({"algorithm": ["ppo"]}, "algorithm is"),
        ({"algorithm": "ppo,a2c"}, "algorithm is 'ppo,a2c', expected the name of one"),
        ({"env": "cartpole,acrobot"}, "env is 'cartpole,acrobot', expected the name of one"),
        ({"env": "cartpole,bandit:arms=3"}, "env is 'cartpole,bandit:arms=3', expected the name of one"),
        ({"env": 3}, "env is 3"),
        ({"out": 5}, "out is 5"),
        ({"env": "cart\0pole"}, "null byte"),
        ({"env": "cartpole" * 60}, "name too long"),
        ({"algorithm": "pbo"}, "unknown algorithm"),
        ({"env": "../cartpole"}, "unknown environment"),
        ({"steps": "many"}, "expected a count"),
        ({"device": "tpu"}, "unknown device"),
        ({"threads": 0}, "threads"),
        ({"hiden": [8]}, "unknown key"),
    ]:
        given: dict[str, Any] = {"algorithm": "ppo", "env": "cartpole", **arguments}
        with pytest.raises(quickstudy.Error, match=said):
            quickstudy.train(**given).wait()
        assert not Path("runs").exists(), arguments
    # A folder that was there stays.
    Path("runs").mkdir()
    with pytest.raises(quickstudy.Error, match="unknown algorithm"):
        quickstudy.train("pbo", "cartpole").wait()
    assert Path("runs").is_dir() and not list(Path("runs").iterdir())
    assert quickstudy.train("ppo", "cartpole", seed=np.int64(3), steps=100, **SMALL).run == Path("runs/cartpole-ppo-s3")


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_training_that_is_killed_says_by_which_signal() -> None:
    training = quickstudy.train("ppo", "cartpole", out="run", steps=10**9, eval_every=0, **SMALL)
    rows = iter(training)
    next(rows)
    assert training._process is not None
    training._process.kill()
    with pytest.raises(quickstudy.Error) as caught:
        list(rows)
    assert str(caught.value) == "training was killed by SIGKILL"


def test_folders_are_new_by_default() -> None:
    runs = [quickstudy.train("ppo", "bandit:arms=3", seed=2, steps=100, **SMALL).wait() for _ in range(2)]
    assert runs == [Path("runs/bandit-arms3-ppo-s2"), Path("runs/bandit-arms3-ppo-s2-2")]
    assert all((run / "best.safetensors").exists() for run in runs)


def test_folders_have_the_name_that_the_command_line_gives_them() -> None:
    env = "bandit:arms=3,pulls=20"
    run = quickstudy.train("ppo", env, seed=2, steps=100, **SMALL).wait()
    assert run == Path("runs/bandit-arms3-pulls20-ppo-s2")
    arguments = ["train", "ppo", "--env", env, "--seed", "2", "--steps", "100", "--threads", "1", "--set", "hidden=[8]"]
    subprocess.run([_command.command(), *arguments], capture_output=True, check=True)
    assert sorted(path.name for path in Path("runs").iterdir()) == [run.name, f"{run.name}-2"]


def test_folders_hold_no_signs_that_file_systems_refuse() -> None:
    for env, expected in {
        "cartpole": "cartpole",
        "bandit:arms=10,pulls=100": "bandit-arms10-pulls100",
        "gymnasium:ALE/Pong-v5": "gymnasium-ALE-Pong-v5",
        'gymnasium:A-v0?x=[1,2]&y="a"': "gymnasium-A-v0-x[1-2]-ya",
        "..\\..\\x": "..-..-x",
    }.items():
        assert _training._folders("ppo", env, 0)[-1] == Path(f"runs/{expected}-ppo-s0")


def test_lists_of_environments_are_those_of_the_command_line() -> None:
    for env, expected in {
        "cartpole": False,
        "bandit:arms=10,pulls=100": False,
        'gymnasium:A-v0?x=[1,2]&y="a,b"': False,
        "gymnasium:A-v0?x=a,a,b&y=1": False,
        "cartpole,acrobot": True,
        "cartpole,": True,
        "cartpole,nothing": True,
        "cartpole,arms=3": True,
        "cartpole,bandit:arms=3": True,
        "bandit:arms=3,pulls=4, cartpole": True,
        "bandit:arms=3,bandit:arms=4": True,
        "gymnasium:A-v0,gymnasium:B-v0": True,
        "gymnasium:A-v0?x=a,cartpole": True,
        "CartPole-v1,Acrobot-v1": True,
    }.items():
        assert _training._is_list(env) == expected, env


def test_environments_of_gymnasium_get_their_prefix() -> None:
    for name, expected in {
        "cartpole": "cartpole",
        "walker2d": "walker2d",
        "CartPole-v1": "gymnasium:CartPole-v1",
        "ALE/Pong-v5": "gymnasium:ALE/Pong-v5",
        "Pendulum-v1?g=5.0": "gymnasium:Pendulum-v1?g=5.0",
        "gymnasium:CartPole-v1": "gymnasium:CartPole-v1",
        "gymnasium:mine:Mine-v0": "gymnasium:mine:Mine-v0",
        "bandit:arms=3": "bandit:arms=3",
        "nothing": "nothing",
    }.items():
        assert _training.environment(name) == expected


def test_settings_are_written_in_toml() -> None:
    for value, expected in [
        (True, "true"),
        (np.bool_(False), "false"),
        (3, "3"),
        (np.int64(3), "3"),
        (1e-7, "1e-07"),
        (0.98, "0.98"),
        (float("inf"), "inf"),
        ("relu", '"relu"'),
        ('a"b', json.dumps('a"b')),
        ([64, 32], "[64, 32]"),
        (np.array([8, 8]), "[8, 8]"),
        (("a",), '["a"]'),
        ([], "[]"),
    ]:
        assert _training.toml(value) == expected
    values: dict[str, Any] = {"learning_rate": 1e-7, "activation": "relu", "orthogonal_init": False, "gamma": 1}
    run = quickstudy.train("ppo", "cartpole", out="run", steps=100, **SMALL, **values).wait()
    config = quickstudy.load(run).config
    assert {key: config[key] for key in values} == values


def test_the_program_of_the_readme_runs() -> None:
    page = metadata("quickstudy").get_payload()
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert program.count("steps=50_000") == 1
    said = subprocess.run(
        [sys.executable, "-c", program.replace("50_000", "1_000")], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0 and len(said.stdout.splitlines()) > 1, said.stderr
    assert [path.name for path in Path("runs").iterdir()] == ["cartpole-ppo-s0"]


def test_the_command_and_the_package_have_the_same_version() -> None:
    said = subprocess.run([_command.command(), "--version"], capture_output=True, text=True, check=True).stdout
    assert said.split()[:2] == ["quickstudy", quickstudy.__version__]
