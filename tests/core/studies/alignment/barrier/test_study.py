"""The barrier between networks whose answer is known: copies, planted orders and rotations,
fine-tunes, and models that cannot be joined."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from core.maths.statistics import sentence_counts
from core.models import zoo_folder
from core.models.loading.model import load_model, load_with_head
from core.results.estimates import Estimate, estimate_of
from core.results.statements import Statement
from core.runs.runner import Outputs
from core.studies.alignment.barrier.matching import drawn_orders, layers_of, read_inputs, reorder
from core.studies.alignment.barrier.spec import BarrierSpec
from core.studies.alignment.barrier.study import ORIGIN, STUDY, relation_of
from core.studies.alignment.barrier.tables import ONE_ORIGIN, OTHER_ORIGINS, base_table
from core.studies.alignment.barrier.tasks import (
    FOLDED,
    MATCHED,
    NORMS,
    RANDOM,
    RAW,
    ROTATED,
    SHARES,
)
from core.studies.alignment.barrier.text import HALFWAY, base_statements, beside_base, make_headline
from core.text.corpora import Corpus
from core.text.reading import read_text
from core.vectors.predicting import ask_following, ask_masked, sum_losses
from tests.core.tiny_models import save_tiny

FEW: dict[str, Any] = {"sentences": 20, "draws": 20}


@cache
def short_texts() -> dict[str, Corpus]:
    """The shortest sentences of the included text: each is read once for each of its subwords, at
    every point of every line."""
    sentences = sorted(read_text("demo", (), 400).sentences, key=lambda each: len(each.words))
    return {"demo": Corpus("demo", tuple(sentences[: FEW["sentences"]]))}


def joined(*models: str, base: str = "", **more: Any) -> Any:
    spec = BarrierSpec(models=models, base=base or models[0], **FEW | more)
    return STUDY.run(spec, short_texts())


def barriers(result: Any) -> dict[str, float]:
    return dict(zip(result.table["order"], result.table["barrier"], strict=True))


def reordered(ref: str, folder: Path, ask: Any) -> str:
    """Save a copy of a model with its units and heads in a drawn order."""
    loaded = load_with_head(ref, device="cpu")
    asked = ask(loaded, short_texts()["demo"].words)
    layers = layers_of(loaded.model)
    reads = read_inputs(loaded.model, layers, asked)
    drawn = drawn_orders(loaded.model.config, reads, len(layers), np.random.default_rng(3))
    assert len(reorder(loaded.model, layers, drawn, asked)) == 2
    source = Path(ref.removeprefix("path:"))
    shutil.copytree(source, folder)
    weights = load_file(source / "model.safetensors")
    now = dict(loaded.model.named_parameters())
    save_file(
        {name: now.get(name, value).detach().clone() for name, value in weights.items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    return f"path:{folder}"


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A copy of an included seed that no card describes, so that its origin is not known."""
    folder = tmp_path_factory.mktemp("own") / "mine"
    return f"path:{shutil.copytree(zoo_folder() / 'models' / 'seed-0', folder)}"


@pytest.mark.exhaustive
def test_copies_have_no_barrier_and_a_planted_order_is_found_again(
    seed: str, tmp_path: Path
) -> None:
    copy = shutil.copytree(seed.removeprefix("path:"), tmp_path / "copy")
    assert barriers(joined(seed, f"path:{copy}"))[RAW] == pytest.approx(0, abs=1e-9)
    result = joined(seed, reordered(seed, tmp_path / "reordered", ask_masked))
    found = barriers(result)
    assert found[RAW] > 0.5  # nats: what a seed has learned is lost on the way to itself
    assert found[MATCHED] == found[NORMS] == pytest.approx(0, abs=1e-6)
    assert found[RANDOM] > 0.5
    assert set(result.tables["paths"]["relation"]) == {OTHER_ORIGINS}
    assert any("norms of these models subtract the mean" in notice for notice in result.notices)


@pytest.mark.exhaustive
def test_a_fine_tune_is_scored_with_the_head_of_its_base_and_is_near_it() -> None:
    result = joined("zoo:seed-0", "zoo:pos-0")
    row = result.table.set_index("order").loc[RAW]
    assert row["relation"] == ONE_ORIGIN
    masked = load_with_head("zoo:seed-0", device="cpu")
    words = short_texts()["demo"].words[0::2]
    asked = ask_masked(masked, words)
    tokens = sum(int((answers >= 0).sum()) for _, answers in asked)
    assert row["source_loss"] == pytest.approx(sum_losses(masked.model, asked, 10).sum() / tokens)
    masked.model.roformer.load_state_dict(
        load_model("zoo:pos-0", device="cpu").model.state_dict(), strict=False
    )
    assert row["target_loss"] == pytest.approx(sum_losses(masked.model, asked, 10).sum() / tokens)
    assert row["barrier"] < 0.5 < result.table.set_index("order").loc[RANDOM, "barrier"]


def test_decoders_are_matched_and_rotated(tmp_path: Path) -> None:
    base = f"path:{save_tiny(tmp_path / 'a', 'llama', head=True)}"
    moved = reordered(base, tmp_path / "b", ask_following)
    found = barriers(joined(base, moved))
    assert found[MATCHED] == pytest.approx(0, abs=1e-6)
    assert found[ROTATED] == pytest.approx(0, abs=1e-4)
    other = f"path:{save_tiny(tmp_path / 'c', 'llama', head=True, seed=1)}"
    assert set(barriers(joined(base, other))) == {RAW, MATCHED, NORMS, FOLDED, ROTATED, RANDOM}


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (("t5", "t5"), "predicts no words"),
        (("llama", "qwen2"), "different subwords"),
    ],
)
def test_what_cannot_be_joined_is_refused_in_a_sentence(
    kinds: tuple[str, str], said: str, tmp_path: Path
) -> None:
    refs = [
        f"path:{save_tiny(tmp_path / str(number), kind, head=True, seed=number)}"
        for number, kind in enumerate(kinds)
    ]
    result = joined(*refs)
    assert said in " ".join(result.failures.values())
    assert result.table.empty
    assert result.headline.endswith("No two models could be joined, for the reasons given.")
    assert STUDY.figures(result) == {}


def test_models_of_other_shapes_are_not_joined(tmp_path: Path) -> None:
    refs = [
        f"path:{save_tiny(tmp_path / str(units), 'llama', head=True, intermediate_size=units)}"
        for units in (48, 64)
    ]
    assert "weights of other names or shapes" in " ".join(joined(*refs).failures.values())


def test_a_fine_tune_of_another_width_does_not_take_the_head(tmp_path: Path) -> None:
    masked = f"path:{save_tiny(tmp_path / 'a', 'bert', head=True)}"
    body = f"path:{save_tiny(tmp_path / 'b', 'bert', hidden_size=16)}"
    assert "does not fit it" in " ".join(joined(masked, body).failures.values())


def test_steps_and_fine_tunes_of_a_seed_have_one_origin() -> None:
    ready = Outputs({(ORIGIN, "path:base", "path:tuned"): True})
    assert relation_of("zoo:seed-0@step-50", "zoo:parse-0-lora-8", ready) == ONE_ORIGIN
    assert relation_of("zoo:seed-0", "zoo:seed-1", ready) == OTHER_ORIGINS
    assert relation_of("path:tuned", "path:base", ready) == ONE_ORIGIN


def test_the_mean_of_a_base_and_its_fine_tunes_is_compared_with_the_base_alone() -> None:
    rng = np.random.default_rng(0)

    def of(first: float, middle: float, last: float) -> dict[str, Any]:
        line = np.interp(SHARES, (0, 0.5, 1), (first, middle, last))
        return {"losses": line[None, :, None] + rng.normal(0, 0.05, 40), "tokens": np.ones(40)}

    values = {
        ("zoo:a", "zoo:b"): of(2.0, 2.1, 5.0),
        ("zoo:c", "zoo:a"): of(5.0, 2.3, 2.0),
        ("zoo:b", "zoo:c"): of(5.0, 2.9, 5.0),
        ("zoo:a", "zoo:d"): of(2.0, 6.0, 2.0),
    }
    relations = dict.fromkeys(values, ONE_ORIGIN) | {("zoo:a", "zoo:d"): OTHER_ORIGINS}
    values["zoo:c", "zoo:a"]["losses"][0, 5] += rng.normal(0, 0.05, 40)
    counts = sentence_counts(40, 500, rng)
    table = base_table(values, relations, "zoo:a", counts)
    assert table["model"].tolist() == ["zoo:b", "zoo:c"]
    assert table["above_base"].tolist() == pytest.approx([0.1, 0.3], abs=0.03)
    assert table["level"].tolist() == [0.975] * 2  # of two together
    lines = values["zoo:c", "zoo:a"]["losses"][0]
    drawn = counts @ (lines[5] - lines[-1]) / 40
    assert table.loc[1, ["low", "high"]].tolist() == pytest.approx(
        np.quantile(drawn, [0.0125, 0.9875]).tolist()
    )
    facts = base_statements(table, "zoo:a")
    said = beside_base(facts)
    low, high = (estimate_of(row, "above_base").text for row in table.to_dict("records"))
    assert said.endswith(f"a fine-tune loses {low} to {high}")
    assert base_statements(base_table(values, relations, "zoo:d", counts), "zoo:d") == ()
    assert beside_base([]) == ""
    halfway = Statement(ONE_ORIGIN, HALFWAY, Estimate(-0.2, -0.3, -0.1), baseline=RAW)
    assert f"{said}." in make_headline([halfway, *facts])


def test_the_headline_says_what_rises_and_what_does_not() -> None:
    facts = [
        Statement(OTHER_ORIGINS, HALFWAY, Estimate(2.0, 1.8, 2.2), baseline=RAW),
        Statement(OTHER_ORIGINS, HALFWAY, Estimate(1.5, 1.4, 1.6), baseline=MATCHED),
        Statement(ONE_ORIGIN, HALFWAY, Estimate(0.01, -0.02, 0.03), baseline=RAW),
    ]
    headline = make_headline(facts)
    assert all(fact.named_in(headline) for fact in facts)
    assert headline.startswith(
        f"Models of {OTHER_ORIGINS} cannot: halfway the loss is 2.00 [1.80, 2.20] nats above their "
        f"mean; of {ONE_ORIGIN}, not detectably above (.01 [−.02, .03])."
    )
    assert f"1.50 with units and heads matched ({OTHER_ORIGINS})" in headline
    assert f"Models of {ONE_ORIGIN} have no detectable barrier" in make_headline(facts[2:])
    sags = [Statement(ONE_ORIGIN, HALFWAY, Estimate(-0.2, -0.3, -0.1), baseline=RAW)]
    assert ".20 [.10, .30] nats below their mean" in make_headline(sags)
