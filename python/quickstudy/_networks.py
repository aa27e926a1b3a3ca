"""Networks of snapshots, in NumPy: layers, normalisers of observations, and recurrent units.

Shapes: B rows, one for each environment; weights are [outputs, inputs]. docs/snapshots.md names the tensors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ._error import Error
from ._snapshot import Snapshot

Floats = NDArray[np.float64]

_ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}
# The kinds of recurrent units, and the names of their gates.
_GATES = {"gru": ("update", "reset", "candidate"), "lstm": ("input", "forget", "candidate", "output"), "rnn": ()}
# The number added to the variance of a cell's output before its root is taken.
_NORM_EPSILON = 1e-5


def activation_of(snapshot: Snapshot) -> Callable[[Floats], Floats]:
    """Give the function that follows each hidden layer.

    Raises:
        Error: if this version does not know it.
    """
    name = snapshot.header["config"].get("activation", "tanh")
    if name not in _ACTIVATIONS:
        raise Error(f"{snapshot.path}: the activation `{name}` is not known")
    return _ACTIVATIONS[name]


def sigmoid(x: Floats) -> Floats:
    """Give 1 / (1 + e^-x)."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))


class Linear:
    """A linear layer, x W^T + b."""

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        """Read `name.weight` and `name.bias`."""
        self.weight, self.bias = snapshot.tensor(f"{name}.weight"), snapshot.tensor(f"{name}.bias")
        if self.weight.ndim != 2 or self.bias.shape != self.weight.shape[:1]:
            raise Error(f"{snapshot.path}: `{name}` is no linear layer")

    @property
    def inputs(self) -> int:
        """How many numbers it reads."""
        return int(self.weight.shape[1])

    @property
    def outputs(self) -> int:
        """How many numbers it gives."""
        return int(self.weight.shape[0])

    def __call__(self, x: Floats) -> Floats:
        """[B, inputs] -> [B, outputs]."""
        return x @ self.weight.T + self.bias


class Layers:
    """Linear layers with an activation after each but the last."""

    def __init__(self, snapshot: Snapshot, name: str, first: int = 0, count: int | None = None) -> None:
        """Read the layers `name.N` from number `first` on, so many or as far as they go; or `name.out` alone."""
        names = [f"{name}.out"]
        if f"{name}.out.weight" not in snapshot:
            self.activation = activation_of(snapshot)
            there = itertools.takewhile(
                lambda layer: f"{layer}.weight" in snapshot, (f"{name}.{number}" for number in itertools.count(first))
            )
            names = list(itertools.islice(there, count))
        if not names:
            raise Error(f"{snapshot.path} has no network `{name}`")
        self.linear = [Linear(snapshot, layer) for layer in names]
        for before, after in itertools.pairwise(self.linear):
            if before.outputs != after.inputs:
                raise Error(f"{snapshot.path}: the layers of `{name}` do not fit each other")

    @property
    def inputs(self) -> int:
        """How many numbers the first layer reads."""
        return self.linear[0].inputs

    @property
    def outputs(self) -> int:
        """How many numbers the last layer gives."""
        return self.linear[-1].outputs

    def __call__(self, x: Floats) -> tuple[Floats, Floats]:
        """Give the output, and the features that the last layer reads."""
        for layer in self.linear[:-1]:
            x = self.activation(layer(x))
        return self.linear[-1](x), x


class Normaliser:
    """Standardises observations, clamp((x - mean) / std, -clip, clip)."""

    def __init__(self, snapshot: Snapshot, name: str, particle: tuple[int, int] = (0, 1)) -> None:
        """Read layer 0 of the network `name`; of several particles, one behind the other, that of (number, count)."""
        number, count = particle
        self.mean, self.std = (np.split(snapshot.tensor(f"{name}.0.{part}"), count)[number] for part in ("mean", "std"))
        self.clip = float(snapshot.tensor(f"{name}.0.clip")[0])

    def __call__(self, x: Floats) -> Floats:
        """[B, O] -> [B, O]."""
        scaled: Floats = np.clip((x - self.mean) / self.std, -self.clip, self.clip)
        return scaled


class Cell:
    """Recurrent units: gated ones, long short-term memory or plain ones. Their state has W numbers."""

    def __init__(self, snapshot: Snapshot, name: str, kind: str) -> None:
        """Read the units `name.kind`.

        Raises:
            Error: if a tensor is missing.
        """
        base = f"{name}.{kind}"
        self.kind = kind
        gates = [f"{base}.{gate}" for gate in _GATES[kind]] or [base]

        def stacked(part: str) -> Floats:
            return np.concatenate([snapshot.tensor(f"{gate}.{part}") for gate in gates])

        self.from_input, self.from_state = stacked("input.weight"), stacked("recurrent.weight")
        self.bias = stacked("input.bias" if kind == "gru" else "bias")
        after = f"{gates[0]}.recurrent.bias" in snapshot
        self.state_bias = stacked("recurrent.bias") if after else None
        self.units = int(self.from_state.shape[1])
        self.width = 2 * self.units if kind == "lstm" else self.units
        self.start = snapshot.tensor(f"{base}.start") if f"{base}.start" in snapshot else np.zeros(self.width)
        norm = [f"{base}.norm.{part}" for part in ("weight", "bias")]
        self.norm = [snapshot.tensor(part) for part in norm] if norm[0] in snapshot else None

    @classmethod
    def find(cls, snapshot: Snapshot, name: str) -> Cell | None:
        """Read the units of a network, if it has such."""
        for kind in _GATES:
            if any(tensor.startswith(f"{name}.{kind}.") for tensor in snapshot.names):
                return cls(snapshot, name, kind)
        return None

    @property
    def inputs(self) -> int:
        """How many numbers they read."""
        return int(self.from_input.shape[1])

    def initial(self, rows: int) -> Floats:
        """Give the state before anything was seen, [B, W]."""
        return np.tile(self.start, (rows, 1))

    def step(self, x: Floats, state: Floats) -> Floats:
        """[B, inputs] and the state [B, W] -> the next state [B, W]."""
        n = self.units
        h = state[:, :n]
        seen = x @ self.from_input.T + self.bias
        if self.kind == "rnn":
            return np.tanh(seen + h @ self.from_state.T)
        if self.kind == "lstm":
            i, f, g, o = np.split(seen + h @ self.from_state.T, 4, axis=1)
            c = sigmoid(f) * state[:, n:] + sigmoid(i) * np.tanh(g)
            return np.concatenate([sigmoid(o) * np.tanh(c), c], axis=1)
        if self.state_bias is not None:  # the reset gate acts after the product
            kept = h @ self.from_state.T + self.state_bias
            z, r = np.split(sigmoid(seen[:, : 2 * n] + kept[:, : 2 * n]), 2, axis=1)
            candidate = np.tanh(seen[:, 2 * n :] + r * kept[:, 2 * n :])
        else:
            z, r = np.split(sigmoid(seen[:, : 2 * n] + h @ self.from_state[: 2 * n].T), 2, axis=1)
            candidate = np.tanh(seen[:, 2 * n :] + (r * h) @ self.from_state[2 * n :].T)
        following: Floats = candidate + z * (h - candidate)
        return following

    def output(self, state: Floats) -> Floats:
        """States [B, W] -> what the next layer reads, [B, units]."""
        h = state[:, : self.units]
        if self.norm is None:
            return h
        centred = h - h.mean(axis=1, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + _NORM_EPSILON)
        scaled: Floats = centred / deviation * self.norm[0] + self.norm[1]
        return scaled
