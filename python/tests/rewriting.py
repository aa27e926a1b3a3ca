"""Snapshots with other tensors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Tensors = dict[str, NDArray[np.float32]]


def rewrite(snapshot: Path, target: Path, change: Callable[[Tensors], None], **fields: object) -> None:
    """Write a snapshot with changed tensors and fields of the header, whose checksum fits."""
    data = snapshot.read_bytes()
    size = int.from_bytes(data[:8], "little")
    entries = json.loads(data[8 : 8 + size])
    header = json.loads(entries.pop("__metadata__")["quickstudy"]) | fields
    tensors: Tensors = {}
    for name, entry in entries.items():
        begin, end = entry["data_offsets"]
        numbers = np.frombuffer(data[8 + size + begin : 8 + size + end], "<f4")
        tensors[name] = numbers.reshape(entry["shape"]).copy()
    change(tensors)
    header.pop("checksum")
    header["checksum"] = ""  # the last field
    text = json.dumps(header)
    assert text.endswith('"checksum": ""}'), text
    state = 0xCBF29CE484222325
    parts = [text.encode()]
    for name in sorted(tensors):
        shape = b"".join(length.to_bytes(8, "little") for length in tensors[name].shape)
        parts += [name.encode(), shape, tensors[name].tobytes()]
    for byte in b"".join(parts):
        state = (state ^ byte) * 0x100000001B3 % (1 << 64)
    text = text[: -len('"}')] + f'{state:016x}"}}'
    table: dict[str, object] = {"__metadata__": {"quickstudy": text}}
    body = b""
    for name, tensor in tensors.items():
        end = len(body) + tensor.nbytes
        table[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(body), end]}
        body += tensor.tobytes()
    head = json.dumps(table).encode()
    target.write_bytes(len(head).to_bytes(8, "little") + head + body)
