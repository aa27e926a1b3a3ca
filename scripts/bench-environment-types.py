#!/usr/bin/env python3
"""Measures the cost of an environment type: bench-environment-types.py [FILE TYPE] [--repeat N].

Two programs outside of the core are compiled with optimisation: one with Acrobot alone, and one that has CartPole as
well, or the `TYPE` of a `FILE` of one's own that uses quickstudy_core. The difference in processor time (compiler and
linker, the median of N builds) and in bytes of the stripped program is the cost of the type. The core itself is
compiled before and does not count.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILTIN = ROOT / "kernels/src/env/builtin"
# As the release profile, but for the link-time optimisation of the whole program, whose time would drown the rest.
MANIFEST = f"""[package]
name = "environment-types"
version = "0.0.0"
edition = "2024"

[dependencies]
quickstudy-core = {{ path = "{ROOT}/core" }}

[profile.release]
codegen-units = 1
strip = "symbols"

[workspace]
"""
MAIN = """{modules}
fn main() {{
    let all = [{environments}].map(|env| env.expect("its spec works"));
    println!("{{:?}}", all.map(|env| env.spec().name.clone()));
}}
"""


def copied(file):
    """The source of a built-in environment as a module of another crate."""
    return (
        file.read_text()
        .replace("crate::", "quickstudy_core::")
        .replace("super::pendulum", "crate::pendulum")
        .split("#[cfg(test)]")[0]
    )


def build(folder, environments, repeat):
    """Compiles a program with these environments, and returns processor seconds and bytes."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "Cargo.toml").write_text(MANIFEST)
    modules = ["pendulum"]
    (folder / "src/pendulum.rs").write_text("#![allow(dead_code)]\n" + copied(BUILTIN / "pendulum.rs"))
    for module, source, _ in environments:
        (folder / f"src/{module}.rs").write_text("#![allow(dead_code)]\n" + source)
        modules.append(module)
    made = ", ".join(f"quickstudy_core::env::EnvDef::new({module}::{make})" for module, _, make in environments)
    main = folder / "src/main.rs"
    main.write_text(MAIN.format(modules="\n".join(f"mod {module};" for module in modules), environments=made))
    seconds = []
    for _ in range(repeat + 1):
        main.touch()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = ["cargo", "build", "--release", "--quiet", "--manifest-path", folder / "Cargo.toml"]
        subprocess.run(command, check=True, env=os.environ | {"CARGO_TARGET_DIR": str(folder.parent / "target")})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    # The first build compiles the core as well.
    return statistics.median(seconds[1:]), (folder.parent / "target/release/environment-types").stat().st_size


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("file", nargs="?", type=pathlib.Path, help="Rust file of an environment of one's own")
    arguments.add_argument("type", nargs="?", help="an expression of it in that module, such as `Lander::default()`")
    arguments.add_argument("--repeat", type=int, default=5, help="builds whose median counts")
    asked = arguments.parse_args()
    if (asked.file is None) != (asked.type is None):
        arguments.error("give a file and the expression that makes its environment")
    acrobot = ("acrobot", copied(BUILTIN / "acrobot.rs"), "Acrobot::default()")
    more = ("cartpole", copied(BUILTIN / "cartpole.rs"), "CartPole::default()")
    if asked.file:
        more = ("own", asked.file.read_text(), asked.type)
    work = ROOT / "target/environment-types"
    (one_time, one_size), (two_time, two_size) = (
        build(work / "program", environments, asked.repeat) for environments in ([acrobot], [acrobot, more])
    )
    print(f"Acrobot alone: {one_time:.2f} s of processor time, {one_size} bytes")
    print(f"with {more[2]}: {two_time:.2f} s of processor time, {two_size} bytes")
    print(f"the type: {two_time - one_time:.2f} s, {(two_size - one_size) / 1000:.1f} kB")


if __name__ == "__main__":
    main()
