#!/usr/bin/env python3
"""Compares what two builds of the command line say to wrong input: same-messages.py OLD NEW [--only WORDS].

Each case is a line of data: a command, and before it, if any, what is done to the files that it reads. Both binaries
run it in a folder of their own with the same three run folders (`ppo`, `promp` and `rl2`), which each binary has
trained itself. Exit code and standard error must be the same, apart from the binary's name, the version, amounts of
memory and times. Prints each difference and exits with 1 where there are any.
"""

import argparse
import difflib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Short runs, each of which leaves a folder.
RUNS = [
    "train ppo --env cartpole --set horizon=16 --steps 1 --eval-episodes 1 --threads 1 --out ppo",
    "train promp --env point-corner --set meta_batch=2 --set rollouts=2 --steps 1 --eval-episodes 1 --threads 1 "
    "--out promp",
    "train rl2-ppo --env bandit --set meta_batch=4 --steps 1 --eval-episodes 1 --threads 1 --out rl2",
]

PPO = "train ppo --env cartpole --steps 1 --out new"
TRPO = "train trpo --env cartpole --steps 1 --out new"
PROMP = "train promp --env point-corner --steps 1 --out new"
RL2 = "train rl2-ppo --env bandit --steps 1 --out new"

# A command of the binary, or changes of files and a command, with " | " between.
CASES = [
    # Settings of each algorithm.
    f"{PPO} --set learning_rate=0",
    f"{PPO} --set learning_rate=-1",
    f"{PPO} --set learning_rate=fast",
    f"{PPO} --set learning_rate=1e39",
    f"{PPO} --set learning_rate=nan",
    f"{PPO} --set learning_rate_schedule=cosine",
    f"{PPO} --set clip_eps=1.5",
    f"{PPO} --set clip_eps_schedule=1",
    f"{PPO} --set horizon=0",
    f"{PPO} --set horizon=-3",
    f"{PPO} --set horizon=1.5",
    f"{PPO} --set horizon=99999999999999999999",
    f"{PPO} --set envs=0",
    f"{PPO} --set epochs=0",
    f"{PPO} --set minibatches=3",
    f"{PPO} --set minibatches=0",
    f"{PPO} --set gamma=2",
    f"{PPO} --set gamma=true",
    f"{PPO} --set gae_lambda=-0.1",
    f"{PPO} --set entropy_coef=-1",
    f"{PPO} --set max_grad_norm=-1",
    f"{PPO} --set value_clip=1",
    f"{PPO} --set target_kl=-1",
    f"{PPO} --set hidden=0",
    f"{PPO} --set hidden=64,64",
    f"{PPO} --set hidden=[64,0]",
    f"{PPO} --set hidden=[64,-1]",
    f"{PPO} --set hidden=[] --set horizon=16 --eval-every 0",
    f"{PPO} --set activation=gelu",
    f"{PPO} --set activation=sigmoid",
    f"{PPO} --set activation=Relu",
    f"{PPO} --set log_std_init=9",
    f"{PPO} --set sde=true",
    f"{PPO} --set sde_sample_freq=3",
    f"{PPO} --set adam_eps=0",
    f"{PPO} --set learning_rat=1",
    f"{PPO} --set meta_batch=3",
    f"{PPO} --set ppo.gamma=0.9",
    f"{PPO} --set gamma",
    f"{PPO} --set =1",
    f"{PPO} --set gamma=",
    f"{PPO} --set gamma=0.9 --set gamma=7",
    f"{PPO} --set gamma=0.9,0.98",
    f"{PPO} --set gamma=[0.9,",
    f"{PPO} --set gama=0.9,0.98",
    f"{PPO} --learning-rate 0.001",
    f"{PPO} --hidden 64,64",
    f"{TRPO} --set max_kl=0",
    f"{TRPO} --set target_kl=0",
    f"{TRPO} --set clip_eps=0.2",
    f"{TRPO} --set cg_iterations=0",
    f"{TRPO} --set damping=-1",
    f"{TRPO} --set gamma=1.01",
    f"{PROMP} --set meta_batch=0",
    f"{PROMP} --set rollouts=0",
    f"{PROMP} --set inner_steps=0",
    f"{PROMP} --set inner_steps=17",
    f"{PROMP} --set inner_lr=0",
    f"{PROMP} --set inner_loss=mse",
    f"{PROMP} --set inner_loss=dice",
    f"{PROMP} --set baseline=gru",
    f"{PROMP} --set inner_kl_coef=-1",
    f"{PROMP} --set outer_steps=0",
    f"{PROMP} --set train_tasks=-1",
    f"{PROMP} --set envs=4",
    f"{PROMP} --set horizon=-1",
    "train maml-ppo --env point-corner --steps 1 --out new --set clip_eps=2",
    "train maml-ppo --env point-corner --steps 1 --out new --set inner_kl_coef=1",
    "train maml-vpg --env point-corner --steps 1 --out new --set learning_rate=0",
    "train maml-vpg --env point-corner --steps 1 --out new --set outer_steps=3",
    "train maml-trpo --env point-corner --steps 1 --out new --set max_kl=-1",
    "train maml-trpo --env point-corner --steps 1 --out new --set learning_rate=0.1",
    "train e-maml --env point-corner --steps 1 --out new --set inner_loss=none",
    "train e-maml --env point-corner --steps 1 --out new --set first_order=1",
    "train dice-maml --env point-corner --steps 1 --out new --set inner_loss=likelihood_ratio",
    "train dice-maml --env point-corner --steps 1 --out new --set gae_lambda=2",
    f"{RL2} --set episodes=0",
    f"{RL2} --set units=0",
    f"{RL2} --set minibatches=7",
    f"{RL2} --set critic=mlp",
    f"{RL2} --set reset=never",
    f"{RL2} --set advantage_centre=none2",
    f"{RL2} --set entropy_method=entropy",
    f"{RL2} --set hidden=[64]",
    f"{RL2} --set entropy_softplus=yes",
    "train rl2-trpo --env bandit --steps 1 --out new --set max_kl=0",
    "train rl2-trpo --env bandit --steps 1 --out new --set clip_eps=0.1",
    # Environments, algorithms and what goes together.
    "train ppo --steps 1 --out new",
    "train ppo --env cartpol --steps 1 --out new",
    "train ppo --env CartPole --steps 1 --out new",
    "train ppo --env '' --steps 1 --out new",
    "train ppo --env cartpole:length=2 --steps 1 --out new",
    "train ppo --env grid-world:map=9x9 --steps 1 --out new",
    "train ppo --env grid-world:size=4 --steps 1 --out new",
    "train ppo --env grid-world: --steps 1 --out new",
    "train ppo --env hopper:healthy_z_range=0.7 --steps 1 --out new",
    "train ppo --env hopper:healthy_z_range=2..0.7 --steps 1 --out new",
    "train ppo --env walker2d:healthy_state_range=-1..1 --steps 1 --out new",
    "train rl2-ppo --env bandit:arms=0 --steps 1 --out new",
    "train rl2-ppo --env bandit:arms=many --steps 1 --out new",
    "train rl2-ppo --env bandit:arms=2,arms=3 --steps 1 --out new",
    "train rl2-ppo --env dark-room:size=1 --steps 1 --out new",
    "train rl2-ppo --env cartpole --steps 1 --out new --set meta_batch=1 --set minibatches=1 --eval-every 0",
    "train rl2-trpo --env pendulum --steps 1 --out new --set units=-1",
    "train promp --env cartpole --steps 1 --out new",
    "train maml-trpo --env acrobot --steps 1 --out new",
    "train e-maml --env point-origin --steps 1 --out new",
    "train dice-maml --env pendulum --steps 1 --out new",
    "train dqn --env pendulum --steps 1 --out new",
    "train td3 --env cartpole --steps 1 --out new",
    "train pearl --env bandit --steps 1 --out new",
    "train sac --env pendulum --steps 1 --out new --set hindsight=0.8",
    "train ppo --env point-corner --steps 1 --out new",
    "train dqn --env cartpole --out new",
    "train PPO --env cartpole --out new",
    "train --env cartpole --out new",
    "train",
    # Flags and numbers.
    "",
    "tran",
    "--frobnicate",
    "train ppo --envs cartpole",
    "train ppo cartpole",
    f"{PPO} --steps 0",
    f"{PPO} --steps -1",
    f"{PPO} --steps 1e99",
    f"{PPO} --steps ten",
    f"{PPO} --steps 1.5",
    f"{PPO} --seed -1",
    f"{PPO} --seed 5..5",
    f"{PPO} --seed 5..1",
    f"{PPO} --seed 1,1",
    f"{PPO} --seed 0..",
    f"{PPO} --seed 0..100000000",
    f"{PPO} --seed 99999999999999999999",
    f"{PPO} --device tpu",
    f"{PPO} --device gpu:x",
    f"{PPO} --threads 0",
    f"{PPO} --threads many",
    f"{PPO} --eval-every -1",
    f"{PPO} --eval-every often",
    f"{PPO} --eval-episodes 0",
    f"{PPO} --eval-episodes 99999999999",
    f"{PPO} --save-every soon",
    f"{PPO} --save-every -1",
    f"{PPO} --config missing.toml",
    f"{PPO} --resume ppo",
    f"{PPO} --out ppo",
    f"{PPO} --out ''",
    f"{PPO} --steps",
    f"{PPO} --debug --debug",
    # Configuration files.
    "write c.toml gamma=2 | train ppo --env cartpole --config c.toml --out new",
    "write c.toml gama=0.9 | train ppo --env cartpole --config c.toml --out new",
    "write c.toml gamma | train ppo --env cartpole --config c.toml --out new",
    "write c.toml gamma='high' | train ppo --env cartpole --config c.toml --out new",
    "write c.toml hidden=[64,'x'] | train ppo --env cartpole --config c.toml --out new",
    "write c.toml [ppo]\\nlr=1 | train ppo --env cartpole --config c.toml --out new",
    "write c.toml algorithm='dqn'\\nenv='cartpole' | train --config c.toml --out new",
    "write c.toml algorithm='ppo' | train --config c.toml --out new",
    "write c.toml algorithm='trpo'\\nhorizon=16\\nenvs=2 | train ppo --env cartpole --config c.toml --out new",
    "write c.toml steps='many' | train ppo --env cartpole --config c.toml --out new",
    "write c.toml \\0\\0 | train ppo --env cartpole --config c.toml --out new",
    "folder c.toml | train ppo --env cartpole --config c.toml --out new",
    # Run folders and snapshots.
    "eval",
    "eval missing",
    "eval ppo --episodes 0",
    "eval ppo --episodes few",
    "eval ppo --seed x",
    "eval ppo --best --last",
    "eval ppo --threads 0",
    "eval ppo --device gpu:99",
    "eval ppo --gif",
    "eval ppo --gif missing/a.gif --episodes 1",
    "eval ppo --csv missing/a.csv --episodes 1",
    "eval ppo/config.toml",
    "eval ppo/metrics.csv",
    "folder empty | eval empty",
    "remove ppo/best.safetensors | remove ppo/last.safetensors | eval ppo",
    "cut ppo/last.safetensors 0 | eval ppo --last",
    "cut ppo/last.safetensors 7 | eval ppo --last",
    "cut ppo/last.safetensors 100 | eval ppo --last",
    "cut ppo/last.safetensors -1 | eval ppo --last",
    "flip ppo/last.safetensors 0 | eval ppo --last",
    "flip ppo/last.safetensors 7 | eval ppo --last",
    "flip ppo/last.safetensors 8 | eval ppo --last",
    "flip ppo/last.safetensors -5 | eval ppo --last",
    "write ppo/last.safetensors nonsense | eval ppo --last",
    "replace ppo/last.safetensors cartpole cartpola | eval ppo --last",
    "remove ppo/last.safetensors | folder ppo/last.safetensors | eval ppo --last",
    "remove ppo/last.safetensors | train --resume ppo --steps 1k",
    "cut ppo/last.safetensors 100 | train --resume ppo --steps 1k",
    "flip ppo/last.safetensors -5 | train --resume ppo --steps 1k",
    "remove ppo/config.toml | train --resume ppo --steps 1k",
    "write ppo/config.toml gamma=3 | train --resume ppo --steps 1k",
    "write ppo/config.toml = | train --resume ppo --steps 1k",
    "remove ppo/version.json | write ppo/version.json {} | train --resume ppo --steps 1k",
    "write ppo/metrics.csv nonsense | write ppo/metrics.jsonl nonsense | plot ppo",
    "train --resume missing",
    "train --resume",
    "train --resume ppo --steps 1",
    "train --resume ppo --steps 0",
    "train --resume ppo --env pendulum",
    "train --resume ppo --set gamma=0.5",
    "train --resume ppo --seed 3",
    "train trpo --resume ppo",
    "folder empty | train --resume empty",
    # Adaptation, pictures, lists, measurements.
    "adapt",
    "adapt missing",
    "adapt ppo",
    "adapt promp --tasks 0",
    "adapt promp --tasks 99999999",
    "adapt promp --rollouts 0",
    "adapt promp --inner-steps 9999",
    "adapt promp --episodes 3",
    "adapt promp --seed -1",
    "adapt promp --best --last",
    "adapt promp --out promp/config.toml",
    "cut promp/last.safetensors 100 | adapt promp --last",
    "flip promp/last.safetensors -5 | adapt promp --last",
    "adapt rl2 --inner-steps 2",
    "adapt rl2 --rollouts 0",
    "adapt rl2 --episodes 0",
    "cut rl2/last.safetensors 50 | eval rl2 --last",
    "flip rl2/last.safetensors -5 | adapt rl2 --last",
    "plot",
    "plot missing",
    "plot ppo --metric train/nothing",
    "plot ppo -o missing/a.svg",
    "plot ppo -o curves.doc",
    "plot ppo promp --metric train/clip_frac --metric train/entropy",
    "remove ppo/metrics.csv | remove ppo/metrics.jsonl | plot ppo",
    "write ppo/metrics.csv a,b\\n1 | remove ppo/metrics.jsonl | plot ppo",
    "folder empty | plot empty",
    "list everything",
    "list settings dqn",
    "bench everything",
    "bench environments --env cartpol --seconds 0.01",
    "bench training --seconds 0",
    "bench training --seconds -1",
    "bench learning --algorithm dqn",
    "bench learning --seed x",
    "devices now",
]


def split(command):
    """The words of a command; two quotation marks are an empty one."""
    return ["" if word == "''" else word for word in command.split()]


def change(folder, words):
    """Does one change to the files of a folder."""
    name, path, rest = words[0], folder / words[1], " ".join(words[2:])
    if name == "write":
        path.write_bytes(rest.replace("\\n", "\n").replace("\\0", "\0").encode())
    elif name == "folder":
        path.mkdir()
    elif name == "remove":
        path.unlink()
    elif name == "cut":
        data = path.read_bytes()
        path.write_bytes(data[: int(rest)])
    elif name == "flip":
        data = bytearray(path.read_bytes())
        data[int(rest)] ^= 0x40
        path.write_bytes(data)
    elif name == "replace":
        old, new = rest.encode().split()
        data = path.read_bytes()
        assert old in data, f"{path}: no {old}"
        path.write_bytes(data.replace(old, new))
    else:
        raise ValueError(f"unknown change {name}")


def normal(text, binary):
    """A message without what may differ: names, versions, amounts of memory, times."""
    text = text.replace(str(binary), "quickstudy").replace(binary.name, "quickstudy")
    text = re.sub(r"/\S*/same-messages-\w+", "<folder>", text)
    text = re.sub(r"\b\d+\.\d+\.\d+\b( \([0-9a-f]{7,}[^)]*\))?", "<version>", text)
    text = re.sub(r"\b\d+(\.\d+)? ([KMGT]i?B|bytes)\b", "<size>", text)
    text = re.sub(r"\b\d+(\.\d+)? ?(s|ms|µs)\b", "<time>", text)
    text = re.sub(r"[\d.]+k? steps/s", "<speed>", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def answer(binary, trained, case):
    """Exit code and message of a case."""
    *changes, command = case.split(" | ")
    with tempfile.TemporaryDirectory(prefix="same-messages-") as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(trained, folder, dirs_exist_ok=True)
        for words in changes:
            change(folder, words.split(" "))
        try:
            done = subprocess.run(
                [binary, *split(command)], capture_output=True, text=True, errors="replace", cwd=folder, timeout=60
            )
        except subprocess.TimeoutExpired:
            return "none after 60 s", ""
        return done.returncode, "" if done.returncode == 0 else normal(done.stderr, binary)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("old", type=lambda path: pathlib.Path(path).resolve())
    arguments.add_argument("new", type=lambda path: pathlib.Path(path).resolve())
    arguments.add_argument("--only", default="", help="only cases with these words")
    asked = arguments.parse_args()
    cases = [case for case in CASES if asked.only in case]
    different = taken = 0
    with tempfile.TemporaryDirectory() as folder:
        trained = {binary: pathlib.Path(folder) / name for binary, name in ((asked.old, "old"), (asked.new, "new"))}
        for binary, runs in trained.items():
            runs.mkdir()
            for run in RUNS:
                subprocess.run([binary, *split(run)], cwd=runs, check=True, capture_output=True)
        for case in cases:
            (old_code, old), (new_code, new) = (answer(binary, runs, case) for binary, runs in trained.items())
            taken += new_code == 0
            if (old_code, old) == (new_code, new):
                continue
            different += 1
            print(f"== {case}" if old_code == new_code else f"== {case}\n   exit code {old_code}, now {new_code}")
            lines = difflib.ndiff(old.splitlines(), new.splitlines())
            print(
                "\n".join({"-": "old", "+": "new"}.get(line[0], "   ") + line[1:] for line in lines if line[0] != "?"),
                flush=True,
            )
    print(f"{len(cases) - different} the same, {different} different; {taken} of {len(cases)} are no error")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
