"""Policies that adapt by what they have seen: by a memory of trials (RL²), or by a belief (PEARL)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._error import Error
from ._networks import Cell, Floats, Layers, activation_of
from ._policy import Policy
from ._snapshot import Snapshot
from ._spaces import Box, Discrete, MultiDiscrete, Space

# The least variance of a transition's vote.
_LEAST_VARIANCE = 1e-7


class TrialPolicy(Policy):
    """A policy of RL², which sees its last action, its reward and its end beside the observation.

    `observe` after each `act` keeps its memory, through all episodes of a trial; `reset` begins a trial.
    """

    _needs_no_outcome = False

    def _beside(self) -> int:
        return self._shown() + 2

    def _shown(self) -> int:
        return len(self.space.low) if isinstance(self.space, Box) else sum(self._counts())

    def _counts(self) -> tuple[int, ...]:
        """Of how many options each choice is; nothing where actions are vectors."""
        match self.space:
            case Discrete(n):
                return (n,)
            case MultiDiscrete(counts):
                return counts
            case _:
                return ()

    def _first(self, rows: int) -> None:
        super()._first(rows)
        self._previous: Floats = np.zeros((rows, self._beside()))

    def _seen(self, obs: Floats) -> Floats:
        return np.concatenate([obs, self._previous], axis=1)

    def _acted(self, obs: Floats, actions: Floats, played: Floats) -> None:
        each = [np.arange(count) == played[:, i : i + 1] for i, count in enumerate(self._counts())]
        self._action = np.concatenate(each, axis=1).astype(np.float64) if each else played

    def _observed(self, reward: Floats, terminated: Any, truncated: Any, next_obs: ArrayLike | None) -> None:
        ended = terminated | truncated
        shown = ended if self.config.get("show_time_limit", False) else terminated
        self._previous = np.concatenate([self._action, reward, shown.astype(np.float64)], axis=1)
        if not self.config.get("carry_over", True):
            self._previous = np.where(ended, 0.0, self._previous)


class ContextPolicy(Policy):
    """A policy of PEARL, which reads z behind the observation: a draw from its belief about the task.

    Before anything was observed the belief is the prior. `observe` after each `act` adds to its context; where an
    episode ends, z is drawn anew. `reset` forgets the context.
    """

    _needs_no_outcome = False

    def __init__(
        self, snapshot: Snapshot, space: Space, name: str, particle: tuple[int, int], seed: int | None
    ) -> None:
        """Read the encoder too."""
        config = snapshot.header["config"]
        self._latent = int(config["latent_dim"])
        super().__init__(snapshot, space, name, particle, seed)
        self._points = not config.get("use_information_bottleneck", True)
        self._shows_next = bool(config.get("use_next_obs_in_context", False))
        self._units: Cell | None = None
        if config.get("encoder", "mlp") == "gru":
            hidden = len(config["encoder_hidden_sizes"])
            self._activation = activation_of(snapshot)
            self._features = Layers(snapshot, "encoder", 0, hidden)
            self._units = Cell(snapshot, "encoder", "gru")
            self._belief = Layers(snapshot, "encoder", hidden)
        else:
            self._belief = Layers(snapshot, "encoder")
        if self._belief.outputs != self._latent * (1 if self._points else 2):
            raise Error(f"{snapshot.path}: the encoder does not give beliefs of {self._latent} numbers")

    @property
    def remembers(self) -> bool:
        """True: actions depend on z."""
        return True

    @property
    def z(self) -> Floats:
        """The numbers that stand for the task until its episode ends, [batch, Z]; they may be set.

        Raises:
            Error: before the first `act`.
        """
        if self._rows is None:
            raise Error("there is no z yet, which is drawn by the first act(); or set it")
        return self._z

    @z.setter
    def z(self, z: ArrayLike) -> None:
        numbers = np.atleast_2d(np.asarray(z, dtype=np.float64))
        if numbers.ndim != 2 or numbers.shape[1] != self._latent:
            raise Error(f"z is [batch, {self._latent}], and this is {list(numbers.shape)}")
        self._begin(len(numbers))
        self._z = numbers.copy()
        self._told = True

    def belief(self) -> tuple[Floats, Floats]:
        """Give mean and variance of the belief about each task, [batch, Z] each; of points the variance is 0.

        Raises:
            Error: before the first `act`.
        """
        if self._rows is None:
            raise Error("there are no tasks yet; they begin with the first act()")
        none = self._count == 0
        if self._units is None and not self._points:
            variance = 1.0 / np.where(none, 1.0, self._sums[0])
            return self._sums[1] * variance, variance
        if self._units is None:
            return self._sums[0] / np.maximum(self._count, 1.0), np.zeros_like(self._sums[0])
        out = self._belief(self._sums[0])[0]
        mean = np.where(none, 0.0, out[:, : self._latent])
        if self._points:
            return mean, np.zeros_like(mean)
        return mean, np.where(none, 1.0, self._variance(out))

    def _variance(self, out: Floats) -> Floats:
        rho = out[:, self._latent :]
        softplus = np.maximum(rho, 0.0) + np.log1p(np.exp(-np.abs(rho)))
        variance: Floats = np.maximum(softplus, _LEAST_VARIANCE)
        return variance

    def _beside(self) -> int:
        return self._latent

    def _first(self, rows: int) -> None:
        self._count: Floats = np.zeros((rows, 1))
        width = self._units.width if self._units else self._latent
        self._sums: list[Floats] = [np.zeros((rows, width)), np.zeros((rows, width))]
        self._z = self._drawn()

    def _drawn(self) -> Floats:
        mean, variance = self.belief()
        return mean + np.sqrt(variance) * self.rng.standard_normal(mean.shape)

    def _seen(self, obs: Floats) -> Floats:
        return np.concatenate([obs, self._z], axis=1)

    def _acted(self, obs: Floats, actions: Floats, played: Floats) -> None:
        self._step = [obs, actions]

    def _observed(self, reward: Floats, terminated: Any, truncated: Any, next_obs: ArrayLike | None) -> None:
        parts = [*self._step, reward]
        if self._shows_next:
            if next_obs is None:
                raise Error("this policy infers from what a step led to as well: give next_obs")
            following = np.atleast_2d(np.asarray(next_obs, dtype=np.float32).astype(np.float64))
            if following.shape != self._step[0].shape:
                raise Error(f"next_obs is {list(self._step[0].shape)}, and this is {list(following.shape)}")
            parts.append(following)
        transition = np.concatenate(parts, axis=1)
        if self._units is not None:
            seen = self._activation(self._features(transition)[0])
            self._sums[0] = self._units.step(seen, self._sums[0])
        else:
            out = self._belief(transition)[0]
            if self._points:
                self._sums[0] = self._sums[0] + out
            else:
                precision = 1.0 / self._variance(out)
                self._sums[0] = self._sums[0] + precision
                self._sums[1] = self._sums[1] + out[:, : self._latent] * precision
        self._count = self._count + 1.0
        ended = terminated | truncated
        if ended.any():
            self._z = np.where(ended, self._drawn(), self._z)
