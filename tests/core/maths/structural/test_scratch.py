"""Memory that is used again."""

from __future__ import annotations

import torch

from core.maths.structural.bank import Scratch

CPU = torch.device("cpu")


def test_arrays_of_other_names_and_types_share_no_memory() -> None:
    scratch = Scratch()
    arrays = [
        scratch.take("a", (2, 3), torch.float32, CPU),
        scratch.take("b", (2, 3), torch.float32, CPU),
        scratch.take("a", (2, 3), torch.float64, CPU),
    ]
    for number, array in enumerate(arrays):
        array.fill_(number)
    assert [float(array.sum()) for array in arrays] == [0.0, 6.0, 12.0]


def test_a_larger_array_gets_new_memory_and_smaller_ones_stay_in_it() -> None:
    scratch = Scratch()
    small, large = (scratch.take("a", (size,), torch.float32, CPU) for size in (2, 5))
    assert small.data_ptr() != large.data_ptr()
    again = scratch.like("a", torch.empty(2, 2))
    assert again.shape == (2, 2)
    assert again.data_ptr() == large.data_ptr()
