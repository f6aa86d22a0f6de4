"""Threads that make models at once do not disturb each other's draws, nor the library for good."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

from core.maths.seeding import seeded
from core.models import load_model
from core.models.loading import reading
from core.models.loading.model import load_with_head
from tests.core.tiny_models import save_tiny


def test_a_draw_depends_on_its_seed_alone_and_leaves_no_trace() -> None:
    state = torch.get_rng_state()
    barrier = threading.Barrier(4)

    def draw(seed: int) -> torch.Tensor:
        barrier.wait()
        with seeded(seed):
            return torch.stack([torch.rand(()) for _ in range(200)])

    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(draw, [0, 1, 0, 1]))
    assert torch.equal(drawn[0], drawn[2])
    assert torch.equal(drawn[1], drawn[3])
    assert not torch.equal(drawn[0], drawn[1])
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_models_are_made_one_at_a_time_and_ties_survive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two at once, and transformers keeps its stand-in for `tie_weights`: no model has tied weights
    from then on."""
    folder = save_tiny(tmp_path / "model", "roformer", head=True)
    before = PreTrainedModel.tie_weights
    inside, most = 0, 0
    make = reading.make_empty

    def slowly(*arguments: Any, **options: Any) -> object:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.05)
        try:
            return make(*arguments, **options)
        finally:
            inside -= 1

    monkeypatch.setattr(reading, "make_empty", slowly)
    with ThreadPoolExecutor(4) as pool:
        bodies = [pool.submit(load_model, f"path:{folder}", device="cpu") for _ in range(2)]
        wholes = [pool.submit(load_with_head, f"path:{folder}", device="cpu") for _ in range(2)]
    assert all(future.exception() is None for future in (*bodies, *wholes))
    assert most == 1
    assert PreTrainedModel.tie_weights is before
