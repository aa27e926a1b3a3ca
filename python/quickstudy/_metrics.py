"""The metrics of a run."""

from __future__ import annotations

import csv
import io
import os
import warnings
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
        # A spreadsheet begins a file with a mark and ends lines with two characters.
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise Error(f"{path} has no metrics: {error}") from error
    whole = text[: text.rfind("\n") + 1]  # the last line may be half written
    lines = list(csv.reader(io.StringIO(whole, newline="")))
    if not lines:
        raise Error(f"{path} has no metrics: it is empty, as of a run that has just begun")
    names, *all_rows = lines
    rows = [row for row in all_rows if len(row) == len(names)]
    if len(rows) < len(all_rows):
        damaged = len(all_rows) - len(rows)
        warnings.warn(f"{path} has {damaged} damaged lines, left out; a resume mends them", stacklevel=2)
    try:
        numbers = [[float(cell) if cell else np.nan for cell in row] for row in rows]
    except ValueError as error:
        raise Error(f"{path} has a metric that is no number: {error}") from error
    table = np.array(numbers, dtype=np.float64).reshape(len(rows), len(names))
    return {name: table[:, at].copy() for at, name in enumerate(names)}
