"""Steps of a training run: the order is training's, cards say how far it is, names where no card
does."""

from __future__ import annotations

import pytest

from core.models.steps import find_steps, progress_of


def test_steps_come_in_the_order_of_training_without_the_end() -> None:
    steps = find_steps(("zoo:seed-0@step-*", "zoo:seed-0"), "zoo:seed-0")
    assert [progress_of(ref)[0] for ref in steps] == [0, 50, 200, 800, 3200]
    assert "zoo:seed-0" not in steps


@pytest.mark.parametrize(
    ("ref", "steps"),
    [
        ("hub:EleutherAI/pythia-70m@step1000", 1000),
        ("hub:google/multiberts-seed_0-step_200k", 200_000),
        ("hub:someone/model", None),
    ],
)
def test_names_say_steps_where_no_card_does(ref: str, steps: int | None) -> None:
    assert progress_of(ref) == (steps, None, None)


def test_cards_of_the_box_say_tokens_and_loss() -> None:
    assert progress_of("zoo:seed-0@step-200") == (200, 409_600, pytest.approx(6.1747))
