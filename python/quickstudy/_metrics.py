"""The metrics of a run."""

from __future__ import annotations

import csv
import json
import os
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._error import Error

_STEPS = "time/env_steps"
_Row = dict[str, float]


def metrics(run: str | os.PathLike[str]) -> dict[str, NDArray[np.float64]]:
    """Read the metrics of a run folder, or of a file metrics.csv.

    Rows of a folder are those of its record metrics.jsonl, and rows that the record lacks those of metrics.csv.

    Returns:
        A column [rows] by each name; NaN where a row has no value.

    Raises:
        Error: if there are none.
    """
    path = Path(run)
    if path.is_dir():
        record = _of_record(path / "metrics.jsonl")
        derived = path / "metrics.csv"
        names, rows = _of_csv(derived) if derived.exists() or not record else ([], [])
        if record:
            # A CSV whose header is damaged tells nothing.
            names, rows = (names, rows) if _STEPS in names else ([], [])
            names = list(dict.fromkeys([*names, *(name for row in record for name in row)]))
            by_steps = {row[_STEPS]: row for row in [*rows, *record] if _STEPS in row}
            rows = [by_steps[steps] for steps in sorted(by_steps)]
    else:
        names, rows = _of_csv(path)
    if not names:
        raise Error(f"{path} has no metrics: it is empty, as of a run that has just begun")
    return {name: np.array([row.get(name, np.nan) for row in rows], dtype=np.float64) for name in names}


def _lines(path: Path) -> str:
    """Read all lines that have an end: the last one may be half written."""
    try:
        # A spreadsheet begins a file with a mark and ends lines with two characters.
        text = path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise Error(f"{path} has no metrics: {error}") from error
    return text[: text.rfind("\n") + 1]


def _of_record(path: Path) -> list[_Row]:
    rows = []
    lines = _lines(path).splitlines() if path.exists() else []
    for line in lines:
        try:
            row = json.loads(line)
            rows.append({name: float(value) for name, value in row.items()} | {_STEPS: float(row[_STEPS])})
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
    _warn(path, len(lines) - len(rows))
    return rows


def _of_csv(path: Path) -> tuple[list[str], list[_Row]]:
    header, *lines = _lines(path).splitlines() or [""]
    names = next(csv.reader([header]), [])
    rows = []
    for line in lines:
        try:
            cells = next(csv.reader([line]), [])
            rows.append({name: float(cell) for name, cell in zip(names, cells, strict=True) if cell})
        except (ValueError, csv.Error):
            continue
    _warn(path, len(lines) - len(rows))
    return names, rows


def _warn(path: Path, damaged: int) -> None:
    if damaged:
        warnings.warn(f"{path} has {damaged} damaged lines, left out; a resume mends them", stacklevel=4)
