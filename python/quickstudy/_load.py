"""Loads policies from run folders and snapshots."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from . import _spaces
from ._error import Error
from ._meta import ContextPolicy, TrialPolicy
from ._policy import Policy
from ._snapshot import Snapshot
from ._spaces import Space

BEST, LAST = "best.safetensors", "last.safetensors"


def snapshot_of(run: Path, last: bool) -> Path:
    """Give the snapshot of a run folder: the best one if there is one, or the last; a file is itself.

    Raises:
        Error: if there is none.
    """
    if run.is_file():
        return run
    path = run / (LAST if last or not (run / BEST).exists() else BEST)
    if path.exists():
        return path
    if not run.exists():
        raise Error(f"{run} does not exist")
    inside = sorted(folder.name for folder in run.iterdir() if (folder / LAST).exists() or (folder / BEST).exists())
    if inside:
        raise Error(f"{run} holds the runs {', '.join(inside)}; name one of them")
    raise Error(f"{run} holds no policy ({LAST}); it is made by `quickstudy train`")


def load(
    run: str | os.PathLike[str],
    *,
    last: bool = False,
    particle: int | None = None,
    space: Any = None,
    seed: int | None = None,
) -> Policy:
    """Load the policy of a run.

    Args:
        run: a run folder, of which it is the best policy (or the last one, where no evaluation was made), as
            `quickstudy eval` has it; or a file in the format of safetensors.
        last: take the last policy instead.
        particle: of `svpg`, the number of a particle, from 0, instead of the best one.
        space: the action space, which is needed where neither the snapshot nor this package has it, as of environments
            of a Rust program: `env.action_space` of Gymnasium, or a Discrete, MultiDiscrete or Box of this package. It
            also says the form of actions (their first numbers, shape and type) where the snapshot has it not.
        seed: of the generator `rng` by which the policy draws.

    Raises:
        Error: if there is no policy, it does not fit the action space, or this version does not know its kind; also if
            the snapshot has another action space than the one that is given.
    """
    snapshot = Snapshot(snapshot_of(Path(run), last))
    header = snapshot.header
    spec = header.get("spec")  # older versions wrote it of environments of the host only
    found = _spaces.of_spec(spec) if spec else None
    if found is None and space is None:
        found = _spaces.of_environment(str(header["env"]))
    if space is not None:
        acts_in: Space = _spaces.of_object(space)
        if found is not None and not _spaces.agree(found, acts_in, formed=bool(spec and spec.get("action_form"))):
            raise Error(f"{snapshot.path} is of `{header['env']}`, which acts by {found}, and this is {space}")
    elif found is not None:
        acts_in = found
    else:
        raise Error(f"the environment `{header['env']}` is not built in: give space=env.action_space")
    name, place = _network(snapshot, particle)
    kinds = {"rl2-ppo": TrialPolicy, "rl2-trpo": TrialPolicy, "pearl": ContextPolicy}
    return kinds.get(str(header["algorithm"]), Policy)(snapshot, acts_in, name, place, seed)


def _network(snapshot: Snapshot, particle: int | None) -> tuple[str, tuple[int, int]]:
    """The name of the network that acts, and the number of its particle among how many."""
    if "particles.returns" not in snapshot:
        if particle is not None:
            raise Error(f"a policy of {snapshot.header['algorithm']} has no particles")
        acts_by_values = any(name.startswith("q.") for name in snapshot.names)
        return ("q" if acts_by_values else "policy"), (0, 1)
    returns, episodes = snapshot.tensor("particles.returns"), snapshot.tensor("particles.episodes")
    if particle is None:
        particle = int(np.argmax(np.where(episodes > 0, returns, -np.inf)))
    if not 0 <= particle < len(returns):
        raise Error(f"there is no particle {particle}; there are {len(returns)}, from 0")
    return f"particle.{particle}.policy", (particle, len(returns))
