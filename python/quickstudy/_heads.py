"""Heads of policies, from the output of a network to actions.

Each is a function of the output [B, outputs], of the features that the last layer reads [B, L], and of a generator:
None asks for the deterministic actions, others draw as training does. Choices are numbers [B, 1], several
at once [B, C]; vectors [B, A] are
in the units in which the policy thinks, and `played` gives them in those of the environment.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._error import Error
from ._snapshot import Snapshot
from ._spaces import Box, Discrete, MultiDiscrete, Space

Floats = NDArray[np.float64]

_LOG_STD = (-20.0, 2.0)
# The variance that is added where deviations depend on the state.
_MIN_VARIANCE = 1e-6
# The limit of means of SAC whose deviations depend on the state.
_FURTHEST_MEAN = 2.0


class Head:
    """Chooses actions by a network's output."""

    outputs: int

    def begin(self, rows: int) -> None:
        """Begin new episodes in so many rows."""

    def __call__(self, out: Floats, features: Floats, rng: np.random.Generator | None) -> Floats:
        """Choose the actions."""
        raise NotImplementedError

    def played(self, actions: Floats) -> Floats:
        """Give the actions as the environment gets them."""
        return actions


class Categorical(Head):
    """Choices by their logits."""

    def __init__(self, space: Discrete) -> None:
        """Take a logit for each choice."""
        self.outputs = space.n

    def __call__(self, out: Floats, features: Floats, rng: np.random.Generator | None) -> Floats:
        """Take the first choice of the largest logit, or draw one by the softmax."""
        if rng is None:
            best: Floats = np.argmax(out, axis=1, keepdims=True).astype(np.float64)
            return best
        weights = np.exp(out - out.max(axis=1, keepdims=True))
        sums = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)[:, :-1]
        drawn: Floats = (rng.random((len(out), 1)) >= sums).sum(axis=1, keepdims=True).astype(np.float64)
        return drawn


class Categoricals(Head):
    """Several choices at once, each by logits of its own, which lie one behind the other."""

    def __init__(self, space: MultiDiscrete) -> None:
        """Take logits for each choice."""
        self.each = [Categorical(Discrete(count)) for count in space.counts]
        self.outputs = sum(space.counts)
        self.ends = np.cumsum(space.counts)[:-1]

    def __call__(self, out: Floats, features: Floats, rng: np.random.Generator | None) -> Floats:
        """Choose each by itself."""
        parts = np.split(out, self.ends, axis=1)
        return np.concatenate([head(part, features, rng) for head, part in zip(self.each, parts, strict=True)], axis=1)


class Greedy(Head):
    """Choices by their values; of a dueling network the value of the state, which is the same for all, is last."""

    def __init__(self, space: Discrete, dueling: bool, epsilon: float) -> None:
        """Draw a choice of any value with probability `epsilon`, where choices are drawn."""
        self.choices, self.epsilon = space.n, epsilon
        self.outputs = space.n + dueling

    def __call__(self, out: Floats, features: Floats, rng: np.random.Generator | None) -> Floats:
        """Take the first choice of the highest value, or sometimes any."""
        best = np.argmax(out[:, : self.choices], axis=1, keepdims=True)
        if rng is not None:
            other = rng.integers(self.choices, size=best.shape)
            best = np.where(rng.random(best.shape) < self.epsilon, other, best)
        chosen: Floats = best.astype(np.float64)
        return chosen


class Gaussian(Head):
    """Vectors around a mean, limited to the action space."""

    def __init__(self, snapshot: Snapshot, space: Box, name: str) -> None:
        """Read `name.log_std`, [A] or, of deviations that depend on the state, [A, L]."""
        self.space, self.outputs = space, len(space.low)
        self.scaled = bool(snapshot.header["config"].get("scale_actions", False))
        self.log_std = np.clip(snapshot.tensor(f"{name}.log_std"), *_LOG_STD)
        least = float(snapshot.header["config"].get("min_std", 0.0))
        if self.log_std.ndim == 1 and least > 0:
            self.log_std = np.maximum(self.log_std, min(np.log(least), _LOG_STD[1]))

    def mean(self, out: Floats) -> Floats:
        """Give the mean, [B, A]."""
        return out

    def __call__(self, out: Floats, features: Floats, rng: np.random.Generator | None) -> Floats:
        """Take the mean, or draw a vector."""
        mean = self.mean(out)
        if rng is None:
            return mean
        return mean + self.deviation(features) * rng.standard_normal(mean.shape)

    def deviation(self, features: Floats) -> Floats:
        """Give the standard deviation, [A] or [B, A]."""
        if self.log_std.ndim == 1:
            return np.exp(self.log_std)
        variance: Floats = np.square(features) @ np.exp(2.0 * self.log_std.T) + _MIN_VARIANCE
        return np.sqrt(variance)

    def played(self, actions: Floats) -> Floats:
        """Limit the actions, which may be in units in which -1 to 1 are the bounds."""
        return self.space.stretch(actions) if self.scaled else self.space.limit(actions)


class NoisySquashed(Gaussian):
    """The tanh of vectors around a mean, whose deviations depend on the state: SAC with `sde`."""

    def mean(self, out: Floats) -> Floats:
        """Limit the mean."""
        limited: Floats = np.clip(out, -_FURTHEST_MEAN, _FURTHEST_MEAN)
        return limited

    def __call__(self, out: Floats, features: Floats, rng: np.random.Generator | None) -> Floats:
        """Squash the vectors."""
        return np.tanh(super().__call__(out, features, rng))

    def played(self, actions: Floats) -> Floats:
        """Stretch the actions."""
        return self.space.stretch(actions)


class Squashed(Head):
    """The tanh of vectors around a mean: SAC and PEARL. Logarithms of deviations are behind the means."""

    def __init__(self, space: Box) -> None:
        """Take means and deviations of A numbers."""
        self.space, self.outputs = space, 2 * len(space.low)

    def __call__(self, out: Floats, features: Floats, rng: np.random.Generator | None) -> Floats:
        """Squash the mean, or a draw."""
        mean, log_std = np.split(out, 2, axis=1)
        if rng is not None:
            mean = mean + np.exp(np.clip(log_std, *_LOG_STD)) * rng.standard_normal(mean.shape)
        return np.tanh(mean)

    def played(self, actions: Floats) -> Floats:
        """Stretch the actions."""
        return self.space.stretch(actions)


class Disturbed(Head):
    """The tanh of the output, and noise on it where actions are drawn: DDPG and TD3."""

    THETA, DT = 0.15, 1e-2

    def __init__(self, snapshot: Snapshot, space: Box) -> None:
        """Read the settings of the noise."""
        config = snapshot.header["config"]
        self.space, self.outputs = space, len(space.low)
        self.sigma = float(config.get("sigma", 0.0))
        self.lasting = config.get("noise") == "ornstein_uhlenbeck"
        self.disturbance = np.zeros((0, self.outputs))

    def begin(self, rows: int) -> None:
        """Begin the noise at 0."""
        self.disturbance = np.zeros((rows, self.outputs))

    def __call__(self, out: Floats, features: Floats, rng: np.random.Generator | None) -> Floats:
        """Squash the output, and disturb it."""
        best = np.tanh(out)
        if rng is None:
            return best
        noise = self.sigma * rng.standard_normal(best.shape)
        if self.lasting:
            if len(self.disturbance) != len(best):
                self.begin(len(best))
            x = self.disturbance
            self.disturbance = noise = x - x * (self.THETA * self.DT) + noise * np.sqrt(self.DT)
        return np.clip(best + noise, -1.0, 1.0)

    def played(self, actions: Floats) -> Floats:
        """Stretch the actions."""
        return self.space.stretch(actions)


def of(snapshot: Snapshot, space: Space, name: str) -> Head:
    """Make the head of a snapshot's policy, whose tensors begin with `name`.

    Raises:
        Error: if the kind of policy is not known, or does not fit the action space.
    """
    config, algorithm = snapshot.header["config"], snapshot.header["algorithm"]
    has_deviation = f"{name}.log_std" in snapshot
    if isinstance(space, MultiDiscrete):
        if has_deviation or name == "q" or algorithm in ("ddpg", "td3", "sac", "pearl"):
            raise Error(f"{snapshot.path}: a policy of `{algorithm}` has no multi-discrete actions")
        return Categoricals(space)
    if isinstance(space, Discrete):
        if has_deviation or algorithm in ("ddpg", "td3", "pearl"):
            raise Error(f"{snapshot.path}: the policy takes continuous actions, and the action space is discrete")
        if name == "q":
            return Greedy(space, bool(config.get("dueling", False)), float(config.get("epsilon_final", 0.0)))
        return Categorical(space)
    if name == "q":
        raise Error(f"{snapshot.path}: the policy takes discrete actions, and the action space is continuous")
    if algorithm in ("sac", "pearl"):
        return NoisySquashed(snapshot, space, name) if has_deviation else Squashed(space)
    if algorithm in ("ddpg", "td3"):
        return Disturbed(snapshot, space)
    if not has_deviation:
        raise Error(
            f"{snapshot.path}: a policy of `{algorithm}` for continuous actions without a deviation is not known"
        )
    return Gaussian(snapshot, space, name)
