"""Settings trained by turns, each mark measured once; the static window beside a slow loop."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import RecipeError
from tests.zoo.made_up import SENTENCES, SETTINGS, write_treebank
from zoo.recipe import __main__ as recipe
from zoo.recipe.calibrate import calibrate, continuations, syntax_judge
from zoo.recipe.syntax import ProbingPlan, measure_gap, static_window
from zoo.recipe.tokenizer import save_tokenizer, train_tokenizer

STEP = SETTINGS.batch * SETTINGS.length / 1e6  # million tokens
TINY = replace(SETTINGS, layers=1, schedule="constant")
CHOICES = {
    "mask": TINY,
    "replaced": replace(TINY, objective="replaced", precision="bfloat16"),
    "words": replace(TINY, whole_words=True, d_model=24, length=32, batch=2),
}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of the made-up sentences."""
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(train_tokenizer(SENTENCES, SETTINGS.vocabulary), folder)
    return folder


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up sentences, a paragraph each."""
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(SENTENCES * 20) + "\n")
    return path


@pytest.mark.exhaustive
def test_settings_take_turns_and_nothing_is_done_twice(
    text: Path, tokenizer: Path, tmp_path: Path
) -> None:
    asked: list[str] = []

    def length_judge(ref: str) -> dict[str, int]:
        asked.append(ref.rpartition("runs/")[2])
        return {"length": len(ref)}

    def go(marks: list[float], judges: dict[str, Any]) -> list[dict[str, Any]]:
        return calibrate(
            tmp_path, str(text), tokenizer, tuple(CHOICES), marks, judges, settings=CHOICES
        )

    first = go([20 * STEP, 10 * STEP], {"length": length_judge})
    assert asked == [f"{name}/step-{step}" for step in (10, 20) for name in CHOICES]
    assert [(row["setting"], row["step"]) for row in first] == [
        (name, step) for name in CHOICES for step in (10, 20)
    ]
    assert all(
        row["tokens"] == row["step"] * STEP * 1e6 and row["held_out_loss"] > 0 for row in first
    )
    assert all(("detection_loss" in row) == (row["setting"] == "replaced") for row in first)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert go([10 * STEP, 20 * STEP], {"length": length_judge}) == first
    assert len(asked) == 6
    assert times == {path: path.stat().st_mtime_ns for path in times}
    more = go(
        [10 * STEP, 20 * STEP, 40 * STEP], {"length": length_judge, "new": lambda ref: {"score": 1}}
    )
    assert asked[6:] == [f"{name}/step-40" for name in CHOICES]
    assert all(row["new"] == {"score": 1} for row in more)
    assert all(row["processor_seconds"] > 0 for row in more)
    lines = (tmp_path / "table.md").read_text().splitlines()
    assert len(lines) == 2 + len(more)
    assert len({line.count("|") for line in lines}) == 1


def test_a_mark_that_was_passed_without_being_kept_has_no_row(
    text: Path, tokenizer: Path, tmp_path: Path
) -> None:
    names = ("mask",)
    calibrate(tmp_path, str(text), tokenizer, names, [20 * STEP], settings=CHOICES)
    rows = calibrate(
        tmp_path, str(text), tokenizer, names, [10 * STEP, 20 * STEP], settings=CHOICES
    )
    assert [row["step"] for row in rows] == [20]


def test_settings_marks_and_texts_that_make_no_sense_are_refused(
    text: Path, tokenizer: Path, tmp_path: Path
) -> None:
    for names, marks in ((("nothing",), [1.0]), ((), [1.0]), (("mask",), []), (("mask",), [-1.0])):
        with pytest.raises(RecipeError, match="the settings are mask, replaced, words"):
            calibrate(tmp_path, str(text), tokenizer, names, marks, settings=CHOICES)
    calibrate(tmp_path, str(text), tokenizer, ("mask",), [STEP], settings=CHOICES)
    other = tmp_path / "other.txt"
    other.write_text("\n".join(SENTENCES[::-1] * 20) + "\n")
    with pytest.raises(RecipeError, match="another text"):
        calibrate(tmp_path, str(other), tokenizer, ("mask",), [STEP], settings=CHOICES)


def test_the_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert recipe.main(["--calibrate", str(tmp_path)]) == 2
    assert "--text FILE" in capsys.readouterr().err


def test_continuations_are_the_pieces_that_say_so(tokenizer: Path) -> None:
    pieces = json.loads((tokenizer / "tokenizer.json").read_text())["model"]["vocab"]
    mask = continuations(tokenizer, SETTINGS.vocabulary)
    assert {place for piece, place in pieces.items() if piece.startswith("##")} == set(
        np.flatnonzero(mask).tolist()
    )


def test_the_static_window_equals_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    lengths = np.array([1, 4, 2, 3])
    vectors = rng.normal(size=(int(lengths.sum()), 5)).astype(np.float32)
    expected, start = [], 0
    for n in lengths:
        for word in range(n):
            near = [
                vectors[start + at] if 0 <= at < n else np.zeros(5)
                for at in range(word - 2, word + 3)
            ]
            expected.append(np.concatenate(near))
        start += n
    assert np.array_equal(
        static_window(vectors, lengths, reach=2), np.array(expected, dtype=np.float32)
    )


def test_a_snapshot_is_judged_by_its_layers_and_its_window(
    text: Path, tokenizer: Path, tmp_path: Path
) -> None:
    treebank = write_treebank(tmp_path / "trees")
    calibrate(tmp_path / "work", str(text), tokenizer, ("replaced",), [10 * STEP], settings=CHOICES)
    calibrate(
        tmp_path / "work",
        str(text),
        tokenizer,
        ("replaced",),
        [10 * STEP],
        {"syntax": syntax_judge(treebank)},
        settings=CHOICES,
    )
    row = json.loads((tmp_path / "work/runs/replaced/step-10.json").read_text())
    syntax = row["syntax"]
    assert len(syntax["layers"]) == 1 + TINY.layers
    assert syntax["gap"] == pytest.approx(
        syntax["layers"][syntax["best"]] - syntax["window"], abs=0.02
    )
    assert syntax["low"] <= syntax["gap"] <= syntax["high"]
    assert f"{syntax['window']:.1f}" in (tmp_path / "work/table.md").read_text()
    plan = ProbingPlan(sentences=(6, 3, 2), rank=4, draws=2, epochs=1)
    gap = measure_gap(f"path:{tmp_path / 'work/runs/replaced/step-10'}", treebank, plan)
    assert all(0 <= share <= 100 for share in (*gap.layers, gap.window))
