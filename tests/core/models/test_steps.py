"""Steps of a training run: the order is training's, cards say how far it is, names where no card
does."""

from __future__ import annotations

import pytest

from core.models.steps import (
    find_steps,
    in_order_of_training,
    missing_steps,
    notices_of_steps,
    origin_of,
    progress_of,
    run_of,
)


def test_steps_come_in_the_order_of_training_without_the_end() -> None:
    steps = find_steps(("zoo:seed-0@step-*", "zoo:seed-0"), "zoo:seed-0", 2)
    assert [progress_of(ref)[0] for ref in steps] == [0, 50, 200, 800, 3200]
    assert "zoo:seed-0" not in steps


def test_only_of_included_checkpoints_it_is_said_what_run_they_are_of() -> None:
    (said,) = notices_of_steps(("zoo:seed-0@step-*", "zoo:seed-0@step-50"), "zoo:seed-0", 12)
    assert said.startswith("The included checkpoints of zoo:seed-0 are of a second run")
    elsewhere = ("hub:a/run@step1000", "path:/runs/a/checkpoint-300", "zoo:seed-1")
    assert notices_of_steps(elsewhere, "zoo:seed-0", 12) == []


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


def test_stages_come_before_steps_and_numbers_before_letters() -> None:
    names = (
        "hub:a/run@stage2-step500-tokens2B",
        "hub:a/run@stage1-step1000-tokens4B",
        "hub:a/run@stage1-step200-tokens1B",
    )
    assert find_steps(names, "", 2) == names[::-1]  # named one by one: all are read
    assert find_steps(("hub:a/run@ckpt_12", "hub:a/run@ckpt_5"), "", 2)[0].endswith("_5")


@pytest.mark.parametrize(
    ("steps", "missing"),
    [
        ([0, 1, 2, 4, 512, 1000, 2000, 3000], []),  # a logarithmic beginning is no gap
        ([1000, 2000, 5000, 6000], [3000, 4000]),
        ([0, 50, 200, 800, 3200], []),
        ([1000, 2000, 2500, 3500], []),
        ([0, 100, 200, 1000], []),  # the last may be the end
    ],
)
def test_only_a_gap_between_evenly_spaced_steps_is_one(
    steps: list[int], missing: list[int]
) -> None:
    assert missing_steps(steps) == missing


@pytest.mark.parametrize(
    ("ref", "origin"),
    [
        ("zoo:seed-0@step-50", "zoo:seed-0"),
        ("zoo:seed-0-again", "zoo:seed-0"),
        ("zoo:sentiment-0-from-seed-1", "zoo:seed-1"),
        ("zoo:parse-0-lora-8", "zoo:seed-0"),
        ("zoo:review-0", "zoo:decoder-0"),
        ("random:zoo:seed-0", "random:zoo:seed-0"),
        ("path:/runs/a/checkpoint-300", "path:/runs/a"),
        ("path:/runs/a/epoch_2", "path:/runs/a"),
        ("hub:google/multiberts-seed_0-step_200k", "hub:google/multiberts-seed_0"),
        ("hub:EleutherAI/pythia-70m@step1000", "hub:EleutherAI/pythia-70m"),
    ],
)
def test_models_of_one_run_base_or_recipe_have_one_origin(ref: str, origin: str) -> None:
    assert origin_of(ref) == origin


def test_a_final_model_comes_after_its_checkpoints() -> None:
    refs = ("path:/runs/a", "path:/runs/a/checkpoint-200", "path:/runs/a/checkpoint-30")
    assert in_order_of_training(refs) == (refs[2], refs[1], refs[0])
    assert {run_of(ref) for ref in refs} == {"path:/runs/a"}
