"""The metrics of a run."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._error import Error


def metrics(run: str | os.PathLike[str]) -> dict[str, NDArray[np.float64]]:
    """Read the metrics of a run folder, or of a file metrics.csv.

    Returns:
        A column [rows] by each name; NaN where a row has no value.

    Raises:
        Error: if there are none, or they are no numbers.
    """
    path = Path(run)
    path = path / "metrics.csv" if path.is_dir() else path
    try:
        with path.open(newline="", encoding="utf-8") as file:
            names, *rows = csv.reader(file)
    except (OSError, ValueError) as error:
        raise Error(f"{path} has no metrics: {error}") from error
    rows = [row for row in rows if len(row) == len(names)]  # the last one may be half written
    try:
        numbers = [[float(cell) if cell else np.nan for cell in row] for row in rows]
    except ValueError as error:
        raise Error(f"{path} has a metric that is no number: {error}") from error
    table = np.array(numbers, dtype=np.float64).reshape(len(rows), len(names))
    return {name: table[:, at].copy() for at, name in enumerate(names)}
