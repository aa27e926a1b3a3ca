"""Snapshots: files in the format of safetensors, with a header of quickstudy's."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._error import Error

# The formats of docs/snapshots.md in which tensors have names.
FORMATS = (2, 3, 4, 5, 6)


class Snapshot:
    """A file's header, and its tensors by name, each read when it is asked for."""

    header: dict[str, Any]

    def __init__(self, path: Path) -> None:
        """Read the header.

        Raises:
            Error: if there is no such file, or it is no snapshot that this version knows.
        """
        self.path = path
        try:
            with path.open("rb") as file:
                size = int.from_bytes(file.read(8), "little")
                if not 2 <= size <= path.stat().st_size - 8:
                    raise ValueError("it does not begin with a header")
                entries = json.loads(file.read(size))
            self.header = json.loads(entries.pop("__metadata__")["quickstudy"])
            self._begin, self._entries = 8 + size, entries
        except OSError as error:
            raise Error(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Error(f"{path} is no snapshot of quickstudy") from error
        found = self.header.get("format")
        if found not in FORMATS:
            advice = "`quickstudy train --resume` converts its run" if found == 1 else "update quickstudy"
            raise Error(f"{path} is of format {found}, and this reads formats 2 to 6; {advice}")

    @property
    def names(self) -> list[str]:
        """The names of all tensors."""
        return list(self._entries)

    def __contains__(self, name: str) -> bool:
        """Tell whether there is a tensor of this name."""
        return name in self._entries

    def tensor(self, name: str) -> NDArray[np.float64]:
        """Read a tensor of f32, as f64.

        Raises:
            Error: if there is none of this name, it is of another type, or the file is cut off.
        """
        try:
            entry = self._entries[name]
            begin, end = entry["data_offsets"]
            shape = [int(size) for size in entry["shape"]]
            if entry["dtype"] != "F32" or end - begin != 4 * math.prod(shape):
                raise ValueError("another type")
            with self.path.open("rb") as file:
                file.seek(self._begin + begin)
                data = file.read(end - begin)
            return np.frombuffer(data, "<f4").astype(np.float64).reshape(shape)
        except (KeyError, ValueError) as error:
            raise Error(f"{self.path} has no sound tensor `{name}` of numbers") from error
