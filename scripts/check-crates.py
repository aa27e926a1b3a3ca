#!/usr/bin/env python3
"""Packages the crates that are published, compiles each from its package and those of the others alone, as far as
`cargo check` goes, and checks what is in them.

Fails where a crate needs a file from outside of its folder, lacks a document or licence, or has a manifest that a
registry refuses. It takes changes that are not committed too, which `cargo publish` does not. Packages lie in
target/packages/package, and what is in them in target/packages/crates. Dependencies are those that `cargo clippy
--workspace --all-features` has checked, in the same target folder.
"""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ["README.md", "LICENSE-APACHE", "LICENSE-MIT", "Cargo.toml", "Cargo.lock", "src/lib.rs"]
ALLOWED = re.compile(
    r"(src|benches|examples)/[\w/-]+\.(rs|toml|wgsl|py)|assets/(page/)?[\w.-]+|build\.rs|README\.md|LICENSE-\w+"
    r"|Cargo\.(lock|toml|toml\.orig)|\.cargo_vcs_info\.json"
)
# The registry's own limits; `cargo package` does not know them.
KEYWORD = re.compile(r"[A-Za-z0-9][\w+-]{0,19}")
LARGEST = 10 << 20  # bytes of a package


def cargo(*arguments):
    """What cargo prints; its own message and exit code where it fails."""
    done = subprocess.run(["cargo", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def unpack(crates, packages, folder):
    """Unpacks the packages into a workspace of their own, where each crate is found in the place of a published one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    patches = []
    for crate in crates:
        name = f"{crate['name']}-{crate['version']}"
        with tarfile.open(packages / f"{name}.crate") as package:
            package.extractall(folder, filter="data")
        (folder / name / "Cargo.lock").unlink()
        patches.append(f'{crate["name"]} = {{ path = "{name}" }}')
    # With the repository's versions and profile, so that dependencies need not be compiled again.
    shutil.copy(ROOT / "Cargo.lock", folder)
    profile = tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]["dev"]
    keys = [f"{key} = {json.dumps(value)}" for key, value in profile.items()]
    head = ["[workspace]", 'resolver = "3"', 'members = ["*-*"]']
    lines = [*head, "[profile.dev]", *keys, "[patch.crates-io]", *patches]
    (folder / "Cargo.toml").write_text("\n".join(lines) + "\n")


def faults_of(crate, packages):
    """What is wrong with a crate's manifest and with its package, which lies in the folder `packages`."""
    name, folder = crate["name"], Path(crate["manifest_path"]).parent
    for key in ["description", "license", "readme", "keywords", "categories", "rust_version"]:
        if not crate[key]:
            yield f"{name}: Cargo.toml has no {key}"
    if len(crate["keywords"]) > 5 or len(crate["categories"]) > 5:
        yield f"{name}: more than 5 keywords or categories"
    for keyword in crate["keywords"]:
        if not KEYWORD.fullmatch(keyword):
            yield (
                f"{name}: the keyword `{keyword}` is longer than 20 characters, "
                "or has others than letters, digits, -, _ and +"
            )
    path = packages / f"{name}-{crate['version']}.crate"
    if path.stat().st_size > LARGEST:
        yield f"{name}: the package has {path.stat().st_size} bytes, more than {LARGEST}"
    with tarfile.open(path) as package:
        files = {member.name.split("/", 1)[1]: member for member in package if member.isfile()}
        for needed in NEEDED:
            if needed not in files:
                yield f"{name}: {needed} is missing"
        for file in files:
            if not ALLOWED.fullmatch(file):
                yield f"{name}: {file} does not belong into the package"
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"]:
            if licence in files and package.extractfile(files[licence]).read() != (ROOT / licence).read_bytes():
                yield f"{name}: {folder.name}/{licence} is not the one of the repository"
        print(f"{name} {crate['version']}: {len(files)} files, {path.stat().st_size} bytes")


def main():
    workspace = json.loads(cargo("metadata", "--no-deps", "--format-version", "1"))
    crates, target = workspace["packages"], Path(workspace["target_directory"], "packages")
    packages = target / "package"
    published = [crate for crate in crates if crate["publish"] != []]
    excluded = [word for crate in crates if crate["publish"] == [] for word in ("--exclude", crate["name"])]
    cargo("package", "--quiet", "--no-verify", "--allow-dirty", "--workspace", *excluded, "--target-dir", str(target))
    crates_of = target / "crates"
    unpack(published, packages, crates_of)
    manifest = ["--manifest-path", str(crates_of / "Cargo.toml")]
    cargo("check", "--quiet", "--workspace", "--all-features", *manifest, "--target-dir", workspace["target_directory"])
    faults = [fault for crate in published for fault in faults_of(crate, packages)]
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
