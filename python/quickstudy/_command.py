"""The program `quickstudy`, and the environments that it has built in."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from typing import Any

from ._error import Error


def command() -> str:
    """Find the program `quickstudy` that was installed with this package, or else one on the path.

    Raises:
        Error: if there is none.
    """
    name = "quickstudy.exe" if os.name == "nt" else "quickstudy"
    folders = [os.path.dirname(sys.executable), sysconfig.get_path("scripts")]
    folders.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    for folder in folders:
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    found = shutil.which(name)
    if found is None:
        raise Error("the program `quickstudy` is neither beside Python nor on the path; install the package again")
    return found


@functools.cache
def environments() -> dict[str, Any]:
    """Ask the program for the actions of each built-in environment, by its name.

    Raises:
        Error: if there is no program, or it does not answer.
    """
    done = subprocess.run([command(), "list", "environments", "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Error(f"`quickstudy list environments` failed: {done.stderr.strip()}")
    lines = map(json.loads, done.stdout.splitlines())
    return {line["name"]: line["action"] for line in lines if line["type"] == "environment"}
