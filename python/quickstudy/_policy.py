"""Policies of snapshots."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _heads, _spaces
from ._error import Error
from ._networks import Cell, Floats, Layers, Normaliser
from ._snapshot import Snapshot
from ._spaces import Discrete, Space

# From rows of what a network reads to its output and the features of its last layer.
Trunk = Callable[[Floats], "tuple[Floats, Floats]"]


class Policy:
    """A trained policy. `quickstudy.load` makes it.

    Shapes: an observation is a vector of O numbers, [O], or one for each of several environments, [batch, O]. A policy
    that remembers, in recurrent units or by what it has inferred, holds a memory for each environment from the first
    `act` on. It is told by `observe` what came of its actions, or begins anew by `reset`; where neither is called, the
    second `act` warns.

    Policies of MAML's family (`promp`, `maml-…`, `e-maml`, `dice-maml`) act as they are before they adapt to a task:
    adapting takes gradients, and `quickstudy adapt` does it.

    Attributes:
        algorithm: the name of the algorithm that trained it.
        env: the name of its environment.
        seed: the seed that it was trained with.
        steps: environment steps that it was trained for.
        config: the settings that it was trained with.
        space: what it acts by, Discrete, MultiDiscrete or Box.
        observations: O, the numbers of an observation.
        rng: what draws where no other generator is given.
    """

    algorithm: str
    env: str
    seed: int
    steps: int
    config: Mapping[str, Any]
    space: Space
    observations: int
    rng: np.random.Generator

    def __init__(
        self, snapshot: Snapshot, space: Space, name: str, particle: tuple[int, int], seed: int | None
    ) -> None:
        """Read the networks; `load` calls it."""
        header = snapshot.header
        self.algorithm, self.env = str(header["algorithm"]), str(header["env"])
        self.seed, self.config = int(header["seed"]), header["config"]
        self.steps = int(header.get("env_steps", 0))  # 0: a file of an early version, which has it not
        self.space, self.rng = space, np.random.default_rng(seed)
        owner = name.rsplit(".", 1)[-1]  # the normaliser of all particles stands by itself
        self._normaliser = Normaliser(snapshot, owner, particle) if f"{owner}.0.mean" in snapshot else None
        self._cell = Cell.find(snapshot, name)
        self._head = _heads.of(snapshot, space, name)
        layers = Layers(snapshot, name, 0 if f"{name}.0.weight" in snapshot else 1)  # 0 may be the normaliser alone
        self._trunk: Trunk = layers
        if self.algorithm == "dql":
            self._pairs(layers)
        elif layers.outputs != self._head.outputs:
            raise Error(f"{snapshot.path}: the policy gives {layers.outputs} numbers, and {space} is given")
        self._inputs = self._cell.inputs if self._cell else layers.inputs
        self.observations = self._inputs - self._beside()
        if self.observations < 1 or self._normaliser and len(self._normaliser.mean) != self.observations:
            raise Error(f"{snapshot.path}: the networks of the policy do not fit {space}")
        self._state: Floats | None = None
        self._rows: int | None = None
        self._acts, self._told = 0, False  # whether the caller says what came of actions, or has been warned

    def __repr__(self) -> str:
        """Say what it is."""
        return f"<Policy of {self.algorithm} on {self.env}: [{self.observations}] -> {self.space}>"

    @property
    def remembers(self) -> bool:
        """True if actions depend on earlier steps, so that `observe` or `reset` have to be called."""
        return self._cell is not None

    def act(
        self, obs: ArrayLike, deterministic: bool = True, *, rng: np.random.Generator | int | None = None
    ) -> int | NDArray[np.int64] | NDArray[np.float32]:
        """Choose an action for an observation [O], or for each of several, [batch, O].

        Args:
            obs: what is seen.
            deterministic: take the deterministic actions, as `quickstudy eval` does; otherwise they are drawn, as by
                `quickstudy eval --stochastic`, but by NumPy's numbers. Where training draws noise for several steps at
                once (`sde`), it is drawn anew in each.
            rng: a generator, or the seed of one, that draws instead of the policy's own.

        Returns:
            The number of the choice, an int, or for several observations int64 [batch]; of several choices at once
            int64 [C] or [batch, C]; of vectors float32 [A] or [batch, A], in the environment's own units and within
            its bounds; int64 where all numbers are whole. As the space of a snapshot of Gymnasium, or a given one,
            says, numbers of choices begin elsewhere than at 0, and arrays have another shape in the place of [C] or
            [A], or another type: `env.action_space.contains(action)` holds.

        Raises:
            Error: if `obs` has another shape or a number that is not finite, or if there are other environments than
                the policy remembers.
        """
        x = np.asarray(obs, dtype=np.float32).astype(np.float64)
        alone = x.ndim == 1
        rows = x[None] if alone else x
        if rows.ndim != 2 or rows.shape[1] != self.observations:
            o = self.observations
            raise Error(f"observations of {self.env} are [{o}] or [batch, {o}], and these are {list(x.shape)}")
        if not np.isfinite(rows).all():
            raise Error("an observation has a number that is not finite")
        self._begin(len(rows))
        self._expect_outcome()
        draw = None if deterministic else (self.rng if rng is None else np.random.default_rng(rng))
        seen = self._seen(self._normaliser(rows) if self._normaliser else rows)
        if self._cell is not None and self._state is not None:
            self._state = self._cell.step(seen, self._state)
            seen = self._cell.output(self._state)
        out, features = self._trunk(seen)
        actions = self._head(out, features, draw)
        played = self._head.played(actions)
        self._acted(rows, actions, played)
        if isinstance(self.space, Discrete):
            choices = played[:, 0].astype(np.int64) + self.space.start
            return int(choices[0]) if alone else choices
        arranged = _spaces.arranged(played, self.space)
        return arranged[0, ...] if alone else arranged

    def observe(
        self,
        reward: ArrayLike,
        terminated: ArrayLike = False,
        truncated: ArrayLike = False,
        *,
        next_obs: ArrayLike | None = None,
    ) -> None:
        """Tell the policy what came of its last actions. One that remembers nothing ignores it.

        Where an episode has ended, recurrent units begin anew, but for those of `rl2-…`: these see the last action and
        its outcome beside the next observation, and remember all episodes of a trial until `reset`. A policy of
        `pearl` adds the step to its context, and where an episode has ended draws z anew by what it believes then.

        Args:
            reward: of each environment, a number or [batch].
            terminated: whether the episode has ended in a final state, alike.
            truncated: whether it was cut off, alike.
            next_obs: what the action led to, before a reset, [O] or [batch, O]; only `pearl` with
                `use_next_obs_in_context` needs it.

        Raises:
            Error: if the policy has not acted yet, or numbers are of another shape.
        """
        if not self.remembers:
            return
        self._told = True
        if self._rows is None:
            raise Error("there is no action yet whose outcome could be observed")
        reward, terminated, truncated = (
            self._column(x, what)
            for x, what in ((reward, "reward"), (terminated, "terminated"), (truncated, "truncated"))
        )
        self._observed(reward, terminated != 0, truncated != 0, next_obs)

    def reset(self) -> None:
        """Forget everything: what follows is a new episode, of policies that adapt a new task."""
        self._rows = self._state = None
        self._told = self._told or self._needs_no_outcome
        self._head.begin(0)

    # What other kinds of policies do otherwise.

    # True if `reset` where an episode begins does as well as `observe`.
    _needs_no_outcome = True

    def _beside(self) -> int:
        """How many numbers the networks read beside an observation."""
        return 1 if self.algorithm == "dql" else 0

    def _seen(self, obs: Floats) -> Floats:
        return obs

    def _first(self, rows: int) -> None:
        if self._cell is not None:
            self._state = self._cell.initial(rows)

    def _acted(self, obs: Floats, actions: Floats, played: Floats) -> None:
        pass

    def _observed(self, reward: Floats, terminated: Any, truncated: Any, next_obs: ArrayLike | None) -> None:
        if self._cell is not None and self._state is not None:
            self._state = np.where(terminated | truncated, self._cell.initial(len(self._state)), self._state)

    def _expect_outcome(self) -> None:
        """Warn once where memory goes on although nobody says where an episode ends."""
        if self.remembers and self._acts and not self._told:
            self._told = True
            resets = ", or reset() where an episode begins" if self._needs_no_outcome else ""
            warnings.warn(
                f"this policy of {self.algorithm} remembers earlier steps, also those of another episode: "
                f"call observe() after each act(){resets}",
                stacklevel=3,
            )
        self._acts += 1

    def _begin(self, rows: int) -> None:
        if not self.remembers or rows == self._rows:
            return
        if self._rows is not None:
            raise Error(f"the policy remembers {self._rows} environments, and these are {rows}; call reset() before")
        self._rows = rows
        self._first(rows)

    def _column(self, x: ArrayLike, what: str) -> Floats:
        numbers = np.asarray(x, dtype=np.float32).astype(np.float64)
        if numbers.size == 1 or numbers.shape == (self._rows,):
            return np.broadcast_to(numbers.reshape(-1, 1), (self._rows or 1, 1))
        raise Error(f"{what} of {self._rows} environments is [{self._rows}], and this is {list(numbers.shape)}")

    def _pairs(self, layers: Layers) -> None:
        """Value each choice by a network that reads it, as a number from -1 to 1, behind the observation."""
        choices = self._head.outputs
        if layers.outputs != 1:
            raise Error(f"a network of values of pairs gives {layers.outputs} numbers")

        def values(x: Floats) -> tuple[Floats, Floats]:
            numbers = np.arange(choices) * (2.0 / max(choices - 1, 1)) - 1.0
            pairs = np.concatenate([np.repeat(x, choices, axis=0), np.tile(numbers, len(x))[:, None]], axis=1)
            return layers(pairs)[0].reshape(len(x), choices), x

        self._trunk = values
