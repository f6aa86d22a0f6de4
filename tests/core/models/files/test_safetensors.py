"""Single rows of a stored tensor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from core.errors import ModelError
from core.models.files.safetensors import read_whole_header


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


def test_complex_numbers_are_refused_and_not_halved(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    save_file({"table": torch.ones(7, 3), "rotation": torch.ones(2, dtype=torch.complex64)}, path)
    with pytest.raises(ModelError, match="holds rotation in complex numbers"):
        read_whole_header(path)
