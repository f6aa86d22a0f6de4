"""Single rows of a stored tensor; headers made to exhaust who reads them."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from core.errors import ModelError
from core.models.files.safetensors import (
    FORMAT_HEADER,
    LONGEST_NAME,
    MOST_HEADER,
    read_header,
    read_whole_header,
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_rows_are_those_of_the_whole_tensor(tmp_path: Path, dtype: torch.dtype) -> None:
    table = torch.randn(7, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    save_file({"before": torch.ones(5), "table": table}, tmp_path / "t.safetensors")
    entry = read_whole_header(tmp_path / "t.safetensors")["table"]
    rows = [6, 0, 3]
    given = entry.read_rows(rows)
    assert given.dtype == np.float32
    np.testing.assert_array_equal(given, table.float().numpy()[rows])
    np.testing.assert_array_equal(given, entry.read()[rows])


def test_a_row_of_a_file_that_was_cut_since_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    save_file({"table": torch.ones(7, 3)}, path)
    entry = read_whole_header(path)["table"]
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ModelError, match="truncated"):
        entry.read_rows([6])


def test_tensors_that_share_bytes_or_leave_some_out_are_damage(tmp_path: Path) -> None:
    """As the library has it, so that no study reads what another refuses."""
    path = tmp_path / "model.safetensors"
    save_file({"a": torch.ones(2), "b": torch.zeros(2)}, path)
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    assert set(read_whole_header(path)) == {"a", "b"}
    for found, wanted in ((b"[0,8]", b"[8,16]"), (b"[8,16]", b"[0,8]")):
        header = raw[8 : 8 + size].replace(found, wanted).ljust(size + 8)
        path.write_bytes(len(header).to_bytes(8, "little") + header + raw[8 + size :])
        with pytest.raises(ModelError, match="not a whole safetensors file"):
            read_whole_header(path)


def test_complex_numbers_are_refused_and_not_halved(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    save_file({"table": torch.ones(7, 3), "rotation": torch.ones(2, dtype=torch.complex64)}, path)
    with pytest.raises(ModelError, match="holds rotation in complex numbers"):
        read_whole_header(path)


class Counted:
    """A file that gives any bytes and counts how many it was asked for."""

    name = "folder/model.safetensors"

    def __init__(self, header: bytes, size: int | None = None) -> None:
        self._content = (len(header) if size is None else size).to_bytes(8, "little") + header
        self.asked = 0

    def read(self, start: int, stop: int) -> bytes:
        self.asked += stop - start
        return self._content[start:stop]


def header_of(names: Iterable[str]) -> bytes:
    place = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    return json.dumps(dict.fromkeys(names, place), separators=(",", ":")).encode()


def test_a_header_of_a_size_that_no_model_has_is_not_read() -> None:
    for size in (MOST_HEADER + 1, FORMAT_HEADER):
        file = Counted(b"{}", size)
        with pytest.raises(ModelError, match="too large"):
            read_header(file)
        assert file.asked == 8
    with pytest.raises(ModelError, match="not a safetensors file"):
        read_header(Counted(b"{}", FORMAT_HEADER + 1))


def test_a_header_that_would_take_much_memory_is_not_parsed() -> None:
    nested = b'{"__metadata__":[' + b"[]," * 1_000_000 + b"[]]}"
    for header in (nested, header_of(f"{number}" for number in range(60_000))):
        assert len(header) < MOST_HEADER
        with pytest.raises(ModelError, match="MB of memory"):
            read_header(Counted(header))


@pytest.mark.slow
def test_many_tensors_are_read_in_time_that_grows_as_their_number() -> None:
    gc.disable()  # it looks at all that the other tests left, now and then
    seconds = []
    for count in (5_000, 40_000):
        header = header_of(f"layer.{number}" for number in range(count))
        began = time.process_time()
        assert len(read_header(Counted(header))) == count
        seconds.append(time.process_time() - began)
    gc.enable()
    assert seconds[1] < 30 * max(seconds[0], 0.02)


def test_a_tensor_of_a_name_without_an_end_is_none() -> None:
    """Whoever lists names in a table pads all of them to the longest."""
    assert read_header(Counted(header_of(["x" * LONGEST_NAME])))
    with pytest.raises(ModelError, match="its header is not one"):
        read_header(Counted(header_of(["x" * (LONGEST_NAME + 1)])))
