"""Metrics of a file that other programs or a killed run have written."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import quickstudy

ROWS = "time/env_steps,eval/return_mean\n100,1.5\n200,\n300,-2.5\n"


def read(text: str) -> dict[str, list[float]]:
    Path("metrics.csv").write_bytes(text.encode())
    return {name: list(column) for name, column in quickstudy.metrics("metrics.csv").items()}


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("time", "\ufefftime")])
def test_other_line_ends_and_a_mark_have_the_same_rows(change: tuple[str, str]) -> None:
    np.testing.assert_equal(read(ROWS.replace(*change, -1 if change[0] == "\n" else 1)), read(ROWS))


def test_a_last_line_that_is_half_written_is_no_row() -> None:
    # Both cells are there, of which the last one lacks its last digits.
    np.testing.assert_equal(read(ROWS + "400,12"), read(ROWS))


def test_what_is_no_row_is_named() -> None:
    with pytest.warns(UserWarning, match="metrics.csv has 1 damaged lines, left out"):
        damaged = read(ROWS.replace("200,\n", "200\n"))
    assert damaged["time/env_steps"] == [100, 300]
    with pytest.raises(quickstudy.Error, match="it is empty"):
        read("")
    assert read("time/env_steps,eval/return_mean\n") == {"time/env_steps": [], "eval/return_mean": []}
    assert read(ROWS.replace("1.5", "inf"))["eval/return_mean"][0] == np.inf
    assert read(ROWS.replace("1.5", "1e400"))["eval/return_mean"][0] == np.inf


def test_a_run_has_all_rows_that_one_of_its_files_has(tmp_path: Path) -> None:
    rows = [{"time/env_steps": 100, "eval/return_mean": 1.5}, {"time/env_steps": 200}]
    rows.append({"time/env_steps": 300, "eval/return_mean": -2.5})
    record = "".join(json.dumps(row) + "\n" for row in rows)
    files = {"metrics.jsonl": record, "metrics.csv": ROWS}
    damages = {
        "whole": lambda text: text,
        "empty": lambda text: "",
        "cut": lambda text: text[:-20],
        "overwritten": lambda text: text[: len(text) // 2] + "\0\0\0" + text[len(text) // 2 + 3 :],
        "overwritten at its end": lambda text: text[:-12] + "\0\0\0" + text[-9:],
        "gone": None,
    }
    whole = read(ROWS)
    for damaged in files:
        for damage in damages.values():
            for name, text in files.items():
                done = damage if name == damaged else damages["whole"]
                (tmp_path / name).unlink(missing_ok=True)
                if done is not None:
                    (tmp_path / name).write_text(done(text))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                table = quickstudy.metrics(tmp_path)
            # A header that is damaged may name one column more.
            np.testing.assert_equal({name: list(table[name]) for name in whole}, whole)
