"""Every column of every table that a study exports has one line in the data dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.commands.study import STUDIES, study_module
from core.models import zoo_folder
from core.results.columns import COLUMNS, describe, meaning
from tests.core.alignment.conftest import hurry, save_classifier

SMALL: dict[str, dict[str, Any]] = {
    "rsa": {"sentences": 30, "words": 60, "draws": 20, "grid": True, "against_genres": ("legal",)},
    "tokens": {},
    "swap": {"compare": ("zoo:sentiment-0",), "noises": 2, "draws": 20},
    "truth": {"sentences": 20, "words": 60, "plants": 2, "measures": ("rsa",)},
    "training": {"sentences": 20, "words": 60, "draws": 20},
    "probe": {"sentences": 120, "epochs": 1, "draws": 20, "seeds": 1, "controls": 1, "layers": (0, 6), "sweep": True},
    "probe edges": {"sentences": 80, "draws": 20, "controls": 1, "layers": (0,)},
    "probe training": {
        "steps": ("zoo:seed-0@step-0",),
        "sentences": 120,
        "epochs": 1,
        "draws": 20,
        "seeds": 1,
        "controls": 1,
    },
    "weights": {"permutations": 100, "of": "both"},
    "weights intruders": {"models": ("zoo:parse-0",), "leading": 4, "draws": 19, "families": ("query",)},
    "align": {"sentences": 60, "layers": (6,), "methods": ("lookup", "ols", "ridge", "identity", "mlp")},
    "align check": {"sentences": 40, "methods": ("ols", "ridge")},
    "align stitch": {"sentences": 40, "methods": ("procrustes",)},
    "align attention": {"sentences": 30},
    "align protocol": {"steps": 2, "length": 16},
}
pytestmark = pytest.mark.slow


def undescribed(tables: dict[str, Any]) -> list[str]:
    return [
        f"{name}.{column}" for name, table in tables.items() for column in table.columns if not meaning(name, column)
    ]


@pytest.mark.parametrize("study", STUDIES)
def test_every_column_is_explained(study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, settings = study_module(study), dict(SMALL[study])
    if study in ("align stitch", "swap"):  # every labelled sentence goes through every stitch
        labelled = (zoo_folder() / "corpus" / "demo-sentiment.tsv").read_text(encoding="utf8").splitlines()[:20]
        (tmp_path / "labelled.tsv").write_text("\n".join(labelled), encoding="utf8")
        settings["labelled"] = str(tmp_path / "labelled.tsv")
    if study == "align protocol":  # networks are trained for it
        hurry(monkeypatch)
        pair = tuple(save_classifier(tmp_path / str(seed), seed) for seed in (0, 1))
        settings |= {"models": pair, "tuned": pair}
    result = module.run_study(module.Spec(**settings))
    assert len(result.table)
    assert undescribed(result.tables) == []
    assert set(describe(result.tables)) == set(result.tables)


def test_a_column_may_mean_something_of_its_own_in_a_table() -> None:
    assert meaning("ranks", "rank") != meaning("scores", "rank")
    assert meaning("any", "no such column") is None
    assert all(text and "\n" not in text for text in COLUMNS.values())
