"""Rotation or linear map, on planted spaces: a rotation is recognised, a stretched one is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.errors import ShapeError, SpecError
from core.maths.evaluation.split import split_rows
from core.results.columns import meaning
from core.studies.alignment.seeds import tasks
from core.studies.alignment.seeds.tables import OVERALL
from core.study import run_first_stage
from core.vectors.pairs import Paired
from extras.alignment.rotation.spec import RotationSpec
from extras.alignment.rotation.study import plan, prepare
from extras.alignment.rotation.tables import error_tables, spectrum_table
from extras.alignment.rotation.tasks import LINEAR, MAPS, ROTATION, compare_rotation, spectrum
from extras.alignment.rotation.text import (
    IN_SAMPLE,
    MAYBE_ROTATIONS,
    NOT_ROTATIONS,
    make_headline,
    planted_gap,
    said,
    statements_of,
)
from tests.core.results.statements import false_statements

SENTENCES = tuple(
    tuple(f"w{(7 * number + 3 * place) % 211}" for place in range(6)) for number in range(200)
)
SENTENCE, WORD = np.repeat(np.arange(200), 6), np.tile(np.arange(6), 200)
D, LAYERS = 6, 2
STRETCH = np.geomspace(4.0, 0.25, D)  # singular values of a linear map that is no rotation


def planted(stretch: np.ndarray, seed: int = 0) -> Paired:
    """A source, and the same rows turned, stretched and read with noise of a third of their
    size."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((LAYERS, len(WORD), D))
    turns = np.linalg.qr(rng.standard_normal((2, LAYERS, D, D)))[0]
    y = 2.0 * (x @ turns[0] * stretch) @ turns[1]
    y += 0.33 * y.std() * rng.standard_normal(y.shape)
    return Paired(x.astype(np.float32), y.astype(np.float32), SENTENCE, WORD, ())


def compared(paired: Paired, monkeypatch: pytest.MonkeyPatch, draws: int = 4) -> dict[str, Any]:
    monkeypatch.setattr(tasks, "extract_pair", lambda *given, **more: paired)
    return dict(compare_rotation("zoo:a", "zoo:b", "a", "b", SENTENCES, "words", "word", draws, 0))


def facts_of(value: dict[str, Any]) -> tuple[tuple[Any, ...], pd.DataFrame, pd.DataFrame]:
    values = {("zoo:a", "zoo:b"): value}
    (errors, gaps), spectra = error_tables(values), spectrum_table(values)
    return statements_of(errors, gaps, spectra), errors, gaps


@pytest.mark.parametrize(
    ("stretch", "verdict"), [(np.ones(D), MAYBE_ROTATIONS), (STRETCH, NOT_ROTATIONS)]
)
def test_only_a_stretched_space_is_no_rotation(
    stretch: np.ndarray, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts, _, gaps = facts_of(compared(planted(stretch), monkeypatch))
    assert facts[0].verdict == verdict
    headline = make_headline(RotationSpec(), facts, planted_gap(gaps))
    assert all(fact.named_in(headline) for fact in facts)
    assert [fact.layers for fact in facts if fact.verdict == IN_SAMPLE] == [(0,), (LAYERS - 1,)]


def test_singular_values_are_those_that_were_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    value = compared(planted(STRETCH), monkeypatch)
    np.testing.assert_allclose(
        value["spectrum"][0], np.tile(spectrum(np.diag(STRETCH)), (LAYERS, 1)), rtol=0.2, atol=0.02
    )
    assert value["planted_spectrum"].shape == (2, 4, LAYERS, D)
    # the source of direction 1 varies little along some directions, so its map is less certain
    np.testing.assert_allclose(value["planted_spectrum"][0], 1.0, atol=0.1)


def test_errors_equal_a_slow_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layer by layer from the rows: Procrustes with scale and the held-out rows' own mean error."""
    paired = planted(STRETCH)
    value = compared(paired, monkeypatch)
    parts = split_rows(SENTENCES, SENTENCE, WORD, "word", 0)
    x, y = paired.base[1].astype(float), paired.compared[1].astype(float)
    train, test = parts.train, parts.test
    mean_x, mean_y = x[train].mean(0), y[train].mean(0)
    left, sizes, right = np.linalg.svd((x[train] - mean_x).T @ (y[train] - mean_y))
    scale = sizes.sum() / ((x[train] - mean_x) ** 2).sum()
    for part, rows in enumerate((train, test)):
        rest = y[rows] - mean_y - scale * (x[rows] - mean_x) @ left @ right
        error = (rest**2).sum() / ((y[rows] - mean_y) ** 2).sum()
        assert value[f"{ROTATION}/nmse"][0, part, 0, 1] == pytest.approx(error)
    _, errors, gaps = facts_of(value)
    overall = errors[errors["layer"] == OVERALL].set_index(["method", "split"])["nmse"]
    assert set(overall.index) == {(name, part) for name in MAPS for part in ("train", "test")}
    assert gaps.set_index("layer").loc[OVERALL, "difference"] == pytest.approx(
        overall[ROTATION, "test"] - overall[LINEAR, "test"]
    )


def test_every_column_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {("zoo:a", "zoo:b"): compared(planted(STRETCH), monkeypatch)}
    errors, gaps = error_tables(values)
    tables = {"rotation": errors, "rotation_gaps": gaps, "spectra": spectrum_table(values)}
    for name, table in tables.items():
        assert [column for column in table.columns if meaning(name, column) is None] == []
    assert false_statements(tables.items()) == []


def test_spaces_of_different_width_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    paired = planted(np.ones(D))
    narrow = Paired(paired.base, paired.compared[..., :3], SENTENCE, WORD, ())
    with pytest.raises(ShapeError, match="6 and 3 wide"):
        compared(narrow, monkeypatch)


def test_without_a_pair_nothing_is_stated() -> None:
    empty = pd.DataFrame(columns=["layer", "nmse", "planted"])
    assert statements_of(empty, empty, empty) == ()
    assert make_headline(RotationSpec(), (), planted_gap(empty)) == said("no_pair")


def test_rows_split_by_word_are_words() -> None:
    with pytest.raises(SpecError):
        RotationSpec(items="mean")


def test_every_pair_is_one_task() -> None:
    spec = RotationSpec(models=("zoo:seed-0", "zoo:seed-1", "zoo:seed-2"), sentences=40)
    assert len(plan(spec, run_first_stage(prepare(spec)))) == 3
