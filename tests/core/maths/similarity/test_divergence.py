"""Divergences of predictions: closed forms, a slow loop, and blocks of the vocabulary."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from core.maths.similarity.divergence import Divergences, Logits, divergences


def of(logits: torch.Tensor, asked: list[int] | None = None) -> Logits:
    """Logits by block; the sizes of the blocks asked for go into a list."""

    def block(start: int, stop: int) -> torch.Tensor:
        if asked is not None:
            asked.append(stop - start)
        return logits[:, start:stop]

    return block


def compared(first: list[list[float]], second: list[list[float]], block: int = 2) -> Divergences:
    """The divergences of two rows of probabilities."""
    p, q = (torch.tensor(rows, dtype=torch.float64).log() for rows in (first, second))
    targets = torch.zeros(len(p), dtype=torch.int64)
    return divergences(of(p), of(q), targets, p.shape[1], block)


def test_closed_forms_on_a_vocabulary_of_four() -> None:
    quarters = [0.25] * 4
    halves = [0.5, 0.5, 1e-30, 1e-30]
    others = [1e-30, 1e-30, 0.5, 0.5]
    values = compared([quarters, halves, halves], [quarters, quarters, others])
    assert values.js == pytest.approx([0.0, 2 - 0.75 * math.log2(3) - 0.5, 1.0], abs=1e-5)
    assert values.kl[:2] == pytest.approx([0.0, 1.0], abs=1e-5)
    assert values.first_surprisal == pytest.approx([2.0, 1.0, 1.0], abs=1e-5)
    assert values.second_surprisal[0] == pytest.approx(2.0)


@pytest.mark.parametrize("block", [1, 3, 7, 100])
def test_blocks_give_what_a_slow_loop_gives(block: int) -> None:
    rng = np.random.default_rng(0)
    first, second = 3 * rng.normal(size=(5, 7)), 3 * rng.normal(size=(5, 7)) + 40.0
    targets = rng.integers(0, 7, size=5)
    asked: list[int] = []
    values = divergences(
        of(torch.tensor(first), asked), of(torch.tensor(second)), torch.tensor(targets), 7, block
    )
    assert max(asked) == min(block, 7)
    p, q = (np.exp(x - x.max(1, keepdims=True)) for x in (first, second))
    p, q = p / p.sum(1, keepdims=True), q / q.sum(1, keepdims=True)
    for row in range(5):
        middle = (p[row] + q[row]) / 2
        turned = q[(row - 2) % 5]
        mixed = (p[row] + turned) / 2
        expected = {
            "kl": sum(a * math.log2(a / b) for a, b in zip(p[row], q[row], strict=True)),
            "reverse_kl": sum(b * math.log2(b / a) for a, b in zip(p[row], q[row], strict=True)),
            "js": sum(
                (a * math.log2(a / m) + b * math.log2(b / m)) / 2
                for a, b, m in zip(p[row], q[row], middle, strict=True)
            ),
            "chance": sum(
                (a * math.log2(a / m) + b * math.log2(b / m)) / 2
                for a, b, m in zip(p[row], turned, mixed, strict=True)
            ),
            "first_surprisal": -math.log2(p[row, targets[row]]),
            "second_surprisal": -math.log2(q[row, targets[row]]),
        }
        for name, value in expected.items():
            assert getattr(values, name)[row] == pytest.approx(value, abs=1e-4), name
    assert values.first_top.tolist() == p.argmax(1).tolist()
    assert values.agree.tolist() == (p.argmax(1) == q.argmax(1)).tolist()


def test_one_position_has_no_chance_level() -> None:
    values = compared([[0.5, 0.5]], [[0.9, 0.1]])
    assert np.isnan(values.chance).all()
    assert values.js[0] > 0
