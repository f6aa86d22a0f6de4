"""Every study that takes models on the folders that a training loop leaves: checkpoint-100, -200,
-300, with the length and padding of training in tokenizer.json. The models are included ones of which
the first two layers are left."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file

from core.catalogue import STUDIES
from core.models import zoo_folder
from core.options import options_of
from core.results.drawing.context import PAGE
from core.runs.store import Store, using
from tests.cases import exhaustive

BELOW = 2  # layers that are left
ABOVE = re.compile(rf"\.layer\.[{BELOW}-9]\.")
SMALL = {
    **{"sentences": 60, "words": 60, "draws": 20, "permutations": 100, "removals": 2, "plants": 2},
    **{"epochs": 2, "seeds": 1, "controls": 1, "rank": 4, "scored": 2, "randoms": 2, "pairs": 10},
    **{"steps": 2, "noises": 2, "length": 16},
}
PREDICTING = (
    "bits",
    "divergence",
    "probe behaviour",
    "probe removal",
)  # studies of models that predict words
QUICK = ("weights",)
MORE: dict[str, dict[str, Any]] = {
    "align": {"methods": ("ols",), "layers": (2,)},
    "align barrier": {"sentences": 20},
    "align check": {"methods": ("ols",), "truths": ("bend",), "layer": 2},
    "align stitch": {"methods": ("ols",)},
    "align attention": {"methods": ("ols",)},
    "divergence": {"sentences": 20},
    "lens": {"sentences": 20, "others": ("zoo:nli-0",)},
    "probe removal": {"layers": (2,)},
    "spaces": {"words": 20},
    "swap": {"sentences": 20, "random": False, "frozen": False},
    "truth": {"measures": ("rsa", "cka")},
    "weights scaling": {"threshold": 0.95, "leading": 3, "families": ("query",)},
}


def lower(name: str) -> dict[str, Any]:
    """An included model's weights without its upper layers."""
    tensors = load_file(zoo_folder() / "models" / name / "model.safetensors")
    return {key: value for key, value in tensors.items() if not ABOVE.search(key)}


def save_lower(name: str, folder: Path, base: dict[str, Any], share: float) -> Path:
    """Save an included model without its upper layers, so much of the way from a base to it."""
    shutil.copytree(zoo_folder() / "models" / name, folder)
    tensors = {
        key: (base[key] + share * (value - base[key])).astype(value.dtype)
        if key in base and base[key].shape == value.shape
        else value
        for key, value in lower(name).items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text("utf8")) | {"num_hidden_layers": BELOW}
    (folder / "config.json").write_text(json.dumps(config), "utf8")
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on the way from the base: of a classifier, and of a model that predicts words."""
    folder = tmp_path_factory.mktemp("runs")
    base = lower("seed-0")
    save_lower("seed-0", folder / "base", base, 1.0)
    for run, end in (("classifier", "sentiment-0"), ("language", "seed-0-again")):
        for step, share in ((100, 0.3), (200, 0.7), (300, 1.0)):
            checkpoint = save_lower(end, folder / run / f"checkpoint-{step}", base, share)
            path = checkpoint / "tokenizer.json"
            content = json.loads(path.read_text("utf8"))
            content["truncation"] = {
                "direction": "Right",
                "max_length": 128,
                "strategy": "LongestFirst",
                "stride": 0,
            }
            path.write_text(json.dumps(content), "utf8")
    lines = (zoo_folder() / "corpus" / "demo-sentiment.tsv").read_text("utf8").splitlines()
    (folder / "labelled.tsv").write_text("\n".join(lines[:24]) + "\n", "utf8")
    return folder


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """One store: what studies share, as vectors, is computed by the first that asks."""
    return Store(tmp_path_factory.mktemp("store"))


@pytest.fixture(autouse=True)
def store(shared_store: Store) -> Iterator[None]:
    with using(shared_store):
        yield


def spec_of(name: str, runs: Path) -> Any:
    """A small study of the checkpoints; those that take patterns get one."""
    study = STUDIES[name]
    run = f"path:{runs / ('language' if name in PREDICTING else 'classifier')}"
    base = f"path:{runs / 'base'}"
    steps = [f"{run}/checkpoint-{step}" for step in (100, 200, 300)]
    values: dict[str, Any] = {}
    for option in options_of(study.Spec):
        if option.kind == "whole" and option.name in SMALL:
            values[option.name] = max(int(option.low), SMALL[option.name])
        elif option.kind == "model":
            values[option.name] = steps[-1] if option.name in ("end", "model") else base
        elif option.kind == "models" and option.name not in ("others", "pair", "against", "tuned"):
            values[option.name] = (f"{run}/checkpoint-*",) if option.patterns else tuple(steps[-2:])
        elif option.name == "labelled":
            values[option.name] = str(runs / "labelled.tsv")
        elif option.name in ("references", "untrained"):
            values[option.name] = False
    return study.Spec(**values | MORE.get(name, {}))


@pytest.mark.slow
@pytest.mark.parametrize("name", exhaustive(STUDIES, *QUICK))
def test_a_study_runs_on_them(name: str, runs: Path) -> None:
    study, spec = STUDIES[name], spec_of(name, runs)
    if name == "align protocol":  # its networks are trained for minutes
        ready = study.perform(spec, study.prepare(spec))
        assert ready.failures == {}
        assert study.plan(spec, ready)
        return
    result = study.run(spec)
    assert result.failures == {}
    assert result.headline
    assert len(result.table) or name == "tokens"
    assert "/checkpoint-300" in json.dumps(result.provenance, default=str)
    study.figures(result)
    for view in study.views:
        view.sentence(result)
        view.drawing(result)(context=PAGE)


@pytest.mark.slow
def test_a_step_of_training_is_no_task_and_folders_of_one_name_are_told_apart(runs: Path) -> None:
    study = STUDIES["weights"]
    models = tuple(f"path:{runs / run}/checkpoint-300" for run in ("classifier", "language"))
    result = study.run(study.Spec(base=f"path:{runs / 'base'}", models=models, permutations=100))
    assert [*result.table["task"]] == ["", ""]
    for name in ("classifier/checkpoint-300", "language/checkpoint-300"):
        assert name in result.headline
    assert str(runs) not in result.headline
