"""Action spaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._command import environments
from ._error import Error

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Discrete:
    """One of `n` choices; an action is the number of the choice, from `start`."""

    n: int
    start: int = 0


@dataclass(frozen=True)
class MultiDiscrete:
    """Several choices at once, among as many as `counts` says; an action has the number of each, from its `start`."""

    counts: tuple[int, ...]
    start: tuple[int, ...] = ()  # as many as there are counts; empty for zeros
    dtype: str = "int64"  # of actions
    shape: tuple[int, ...] | None = None  # of actions; None for a vector


@dataclass(frozen=True)
class Box:
    """Vectors of numbers, each between its `low` and its `high`; those that are `whole` are whole numbers."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    whole: tuple[bool, ...] = ()  # as many as there are numbers; empty for none
    dtype: str = "float32"  # of actions
    shape: tuple[int, ...] | None = None  # of actions; None for a vector

    def limit(self, actions: Floats) -> Floats:
        """Give the nearest actions within the bounds in single precision, [rows, A]."""
        if any(self.whole):
            actions = np.where(self.whole, np.floor(actions + 0.5), actions)
        return np.clip(actions, _single(self.low, np.inf), _single(self.high, -np.inf))

    def stretch(self, actions: Floats) -> Floats:
        """Stretch numbers from -1 to 1 to actions from the lowest to the highest, [rows, A].

        Each whole number has an equal part of -1 to 1.
        """
        low, high, more = np.array(self.low), np.array(self.high), np.array(self.whole or 0.0, np.float64)
        return self.limit(actions * (0.5 * (high - low + more)) + 0.5 * (high + low))


def _single(bounds: Iterable[float], towards: float) -> Floats:
    """Give the numbers of single precision next to bounds, in a direction: the nearest ones may lie outside."""

    def next_to(bound: float) -> float:
        number = np.float32(bound)
        exact = int(number) if isinstance(bound, int) else float(number)
        outside = exact < bound if towards > 0 else exact > bound
        return float(np.nextafter(number, np.float32(towards)) if outside else number)

    return np.array([next_to(bound) for bound in bounds])


Space = Discrete | MultiDiscrete | Box


# Parameters of environments that say how many choices there are.
_COUNTS = {"bandit": "arms", "bit-flip": "bits"}


def of_environment(name: str) -> Space | None:
    """Give the action space of a built-in environment, or None of others: of snapshots that have no spec of it.

    `name` is as on the command line, perhaps with parameters, as in `bandit:arms=10`.

    Raises:
        Error: if the program `quickstudy` is not there.
    """
    name, _, parameters = name.partition(":")
    for parameter in parameters.split(","):
        key, _, value = parameter.partition("=")
        if key.strip() == _COUNTS.get(name) and value.strip().isdecimal():
            return Discrete(int(value))
    action = environments().get(name)
    if action is None:
        return None
    if action["kind"] == "discrete":
        return Discrete(len(action["names"]))
    numbers = action["numbers"]
    return Box(tuple(number["low"] for number in numbers), tuple(number["high"] for number in numbers))


def of_spec(spec: Any) -> Space:
    """Read the action space of an environment, as a snapshot has it."""
    action, form = spec["action"], spec.get("action_form") or {}  # none: as of files of early versions
    start, shape = tuple(form.get("start", ())), tuple(form["shape"]) if "shape" in form else None
    if action["kind"] == "discrete":
        return Discrete(len(action["names"]), *start)
    if action["kind"] == "multidiscrete":
        counts = tuple(len(choice["names"]) for choice in action["choices"])
        return MultiDiscrete(counts, start, form.get("dtype", "int64"), shape)
    dims = action["dims"]
    whole = tuple(bool(dim.get("whole", False)) for dim in dims)
    dtype = form.get("dtype", "int64" if all(whole) else "float32")
    low, high = tuple(dim["low"] for dim in dims), tuple(dim["high"] for dim in dims)
    return Box(low, high, whole if any(whole) else (), dtype, shape)


def of_object(space: Any) -> Space:
    """Read an action space: one of this module, or Gymnasium's Discrete, MultiDiscrete, MultiBinary or Box.

    Raises:
        Error: if it is of another kind, or a Box has no finite bounds.
    """
    if isinstance(space, Discrete | MultiDiscrete):
        return space
    if hasattr(space, "nvec"):
        start, counts = np.ravel(getattr(space, "start", 0)), tuple(np.ravel(space.nvec).tolist())
        given = np.dtype(getattr(space, "dtype", np.int64))
        name = "int64" if np.can_cast(np.int64, given) else given.name
        return MultiDiscrete(counts, tuple(start.tolist()) if start.any() else (), name, _unless_vector(space.nvec))
    if type(space).__name__ == "MultiBinary":
        return MultiDiscrete((2,) * int(np.prod(space.shape)), shape=_unless_vector(np.empty(space.shape)))
    if hasattr(space, "low") and hasattr(space, "high"):
        low, high = (np.ravel(bound) for bound in (space.low, space.high))
        shape = _unless_vector(space.low)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise Error(f"the action space {space} has no finite bounds")
        if isinstance(space, Box):
            return space
        if low.dtype.kind not in "biu":
            # Arrays of single precision are in a space of double precision too, but in none of half precision.
            dtype = "float16" if low.dtype == np.float16 else "float32"
            return Box(tuple(low.tolist()), tuple(high.tolist()), dtype=dtype, shape=shape)
        # Whole numbers may be larger than those that floats can hold one by one.
        lowest, highest = (_single(map(int, bound), to) for bound, to in ((low, np.inf), (high, -np.inf)))
        return Box(tuple(lowest.tolist()), tuple(highest.tolist()), (True,) * low.size, str(low.dtype), shape)
    if hasattr(space, "n") and not isinstance(space.n, Sequence) and np.ndim(space.n) == 0:
        return Discrete(int(space.n), int(getattr(space, "start", 0)))
    raise Error(f"the action space {space} is no Discrete, MultiDiscrete, MultiBinary or Box")


def arranged(actions: Floats, space: MultiDiscrete | Box) -> NDArray[Any]:
    """Give actions [rows, A] in the form of the space."""
    if isinstance(space, MultiDiscrete) and space.start:
        actions = actions + np.array(space.start)
    return actions.astype(space.dtype).reshape(len(actions), *((-1,) if space.shape is None else space.shape))


def _unless_vector(array: Any) -> tuple[int, ...] | None:
    shape = np.shape(array)
    return None if len(shape) == 1 else shape


def agree(saved: Space, given: Space, formed: bool) -> bool:
    """Tell whether a space is the one that is saved, and, where the file says it (`formed`), of the same form."""
    if isinstance(saved, Discrete) and isinstance(given, Discrete):
        return saved.n == given.n and (not formed or saved.start == given.start)
    if isinstance(saved, MultiDiscrete) and isinstance(given, MultiDiscrete):
        forms = [(space.start or (0,) * len(space.counts), space.shape) for space in (saved, given)]
        return saved.counts == given.counts and (not formed or forms[0] == forms[1])
    if isinstance(saved, Box) and isinstance(given, Box) and len(saved.low) == len(given.low):
        same = all(np.allclose(x, y, 1e-5, 0.0) for x, y in ((saved.low, given.low), (saved.high, given.high)))
        return same and any(saved.whole) <= any(given.whole) and (not formed or saved.shape == given.shape)
    return False
