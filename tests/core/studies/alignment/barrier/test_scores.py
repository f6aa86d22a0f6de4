"""Scores of tasks between weights whose answer is known: copies, the scores of task arithmetic, and
models whose task cannot be scored."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.torch import load_file, save_file
from scipy.special import stdtrit

from core.models import zoo_folder
from core.models.costs import Sizes
from core.results.drawing.style import GREY
from core.results.estimates import Estimate
from core.results.statements import Statement
from core.runs.store import Store
from core.studies.alignment.barrier import charts
from core.studies.alignment.barrier.scoring import KEPT, TURNED
from core.studies.alignment.barrier.spec import BarrierSpec
from core.studies.alignment.barrier.study import SCORES, STUDY
from core.studies.alignment.barrier.tables import (
    BASE_LOSSES,
    ONE_ORIGIN,
    OTHER_ORIGINS,
    score_tables,
)
from core.studies.alignment.barrier.tasks import RAW, SHARES
from core.studies.alignment.barrier.text import HALF, MOVED, TASK, make_headline, statements_of
from core.studies.weights.arithmetic.spec import ALONE, CHOSEN, ArithmeticSpec
from core.studies.weights.arithmetic.study import STUDY as ARITHMETIC
from core.study import expected_tasks
from core.text.corpora import Corpus, Sentence
from core.text.reading import read_text
from tests.core.tiny_models import save_tiny

PARSERS = ("zoo:parse-0", "zoo:parse-1")
FEW: dict[str, Any] = {"sentences": 20, "draws": 20}


@cache
def beginnings() -> dict[str, Corpus]:
    """A few words of each sentence: losses need only be there, and cost most."""
    words = read_text("demo", (), FEW["sentences"]).words
    return {"demo": Corpus("demo", tuple(Sentence(each[:3]) for each in words))}


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Sentences of the gold text that are nearly of one length, so that they are read in few
    batches at each point of each line."""
    text = (zoo_folder() / "corpus" / "demo-gold.conllu").read_text(encoding="utf8")
    sentences = sorted(text.strip().split("\n\n"), key=lambda sentence: sentence.count("\n"))
    path = tmp_path_factory.mktemp("gold") / "short.conllu"
    path.write_text("\n\n".join(sentences[20:40]) + "\n\n", encoding="utf8")
    return str(path)


def joined(*models: str, base: str = "zoo:seed-0", **more: Any) -> Any:
    return STUDY.run(BarrierSpec(models=models, base=base, **FEW | more), beginnings())


def copy_of(name: str, folder: Path) -> Path:
    return Path(shutil.copytree(zoo_folder() / "models" / name, folder / name))


@pytest.fixture(scope="module")
def scored(gold: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A seed and two of its parsers."""
    spec = BarrierSpec(models=("zoo:seed-0", *PARSERS), text=gold, **FEW)
    return STUDY.run(spec, beginnings(), store=Store(tmp_path_factory.mktemp("store")))


@pytest.mark.exhaustive
@pytest.mark.slow
def test_copies_have_no_barrier_of_the_score_in_any_order(gold: str, tmp_path: Path) -> None:
    copy = f"path:{copy_of('parse-0', tmp_path)}"
    result = joined("zoo:parse-0", copy, base="zoo:parse-0", text=gold)  # a head without losses
    table = result.tables["scored"].set_index("order")
    assert set(table.index) == {RAW, TURNED, KEPT}
    assert set(result.tables["score_paths"]["relation"]) == {ONE_ORIGIN}
    assert (table["score"] > table["chance"]).all()
    assert table["score_barrier"].tolist() == pytest.approx([0.0] * 3, abs=1e-12)


@pytest.mark.exhaustive
def test_folders_without_a_head_that_predicts_are_scored_by_their_task(tmp_path: Path) -> None:
    """A sentence encoder and its fine-tune, as sentence-transformers and transformers save them."""
    base, tuned = copy_of("seed-0", tmp_path), copy_of("sentiment-0", tmp_path)
    config = json.loads((base / "config.json").read_text(encoding="utf8"))
    config["architectures"] = ["RoFormerModel"]
    (base / "config.json").write_text(json.dumps(config), encoding="utf8")
    lines = (zoo_folder() / "corpus" / "demo-sentiment.tsv").read_text(encoding="utf8").splitlines()
    labelled = tmp_path / "labelled.tsv"
    labelled.write_text("\n".join(sorted(lines[:60], key=len)[:20]) + "\n", encoding="utf8")
    result = joined(f"path:{base}", f"path:{tuned}", base=f"path:{base}", labelled=str(labelled))
    assert not result.failures
    table = result.table.set_index("order")
    assert set(table["relation"]) == {ONE_ORIGIN}
    # a base that predicts no tokens, as above, so that no losses are computed
    models = ("zoo:seed-0", "zoo:sentiment-0")
    same = joined(*models, base="zoo:sentiment-0", labelled=str(labelled))
    same = same.tables["scored"].set_index("order")
    for column in ("score", "middle_score", "other_score"):
        assert table.loc[RAW, column] == pytest.approx(same.loc[RAW, column], abs=0.02)
    assert table.loc[RAW, "score"] == same.loc[RAW, "score"]
    half = next(fact for fact in result.statements if fact.verdict == HALF)
    assert half.number.value_text in result.headline
    assert list(STUDY.figures(result)) == ["scores"]


@pytest.mark.exhaustive
def test_both_ends_score_what_task_arithmetic_says(scored: Any, gold: str) -> None:
    spec = ArithmeticSpec(models=PARSERS, factors="0 1", randoms=2, corpus=gold, **FEW)
    sums = ARITHMETIC.run(spec)
    arithmetic = sums.table.set_index(["model", "way", "scale"])
    table = scored.tables["scored"].set_index(["model", "other", "order"]).sort_index()
    for model in PARSERS:
        row = table.loc[model, "zoo:seed-0", RAW]
        assert row["score"] == arithmetic.loc[(model, ALONE, 1.0), "score"]
        assert row["other_score"] == arithmetic.loc[(model, ALONE, 0.0), "score"]
        assert row["middle_score"] == pytest.approx(arithmetic.loc[(model, ALONE, 0.5), "score"])
        assert row[["metric", "chance"]].tolist() == (
            arithmetic.loc[(model, ALONE, 1.0), ["metric", "chance"]].tolist()
        )
    between = table.loc[PARSERS]
    assert between.loc[RAW, "other_score"] == arithmetic.loc[(PARSERS[1], ALONE, 1.0), "score"]
    assert between.loc[KEPT, "other_score"] == arithmetic.loc[(PARSERS[0], CHOSEN, 0.0), "score"]
    paths = scored.tables["score_paths"].query("relation == @ONE_ORIGIN and share == 0")
    own = arithmetic.loc[(PARSERS[0], ALONE, 1.0)]
    kept = paths.set_index("order").loc[KEPT]  # of one pair
    assert kept[["score", "low", "high"]].tolist() == own[["score", "low", "high"]].tolist()


@pytest.mark.exhaustive
def test_a_random_change_is_as_large_and_another(scored: Any) -> None:
    """It leaves what the way to the base takes; without a change there is none, see above."""
    table = scored.tables["scored"].set_index(["model", "other", "order"]).sort_index()
    for model in PARSERS:
        random, raw = (table.loc[model, "zoo:seed-0", order] for order in (TURNED, RAW))
        assert random["score"] == raw["score"]
        assert 0 < raw["score"] - random["other_score"] < 0.1
        assert raw["other_score"] < 0.5


@pytest.mark.exhaustive
def test_the_score_is_said_with_its_rival_and_drawn(scored: Any) -> None:
    facts = [fact for fact in scored.statements if fact.verdict in (TASK, MOVED)]
    assert [(fact.subject, fact.metric, fact.verdict) for fact in facts] == [
        (ONE_ORIGIN, "UAS", TASK), (ONE_ORIGIN, "UAS", MOVED),
    ]  # fmt: skip
    assert all(fact.named_in(scored.headline) for fact in facts)
    assert "right answers: the text's own" in scored.methods
    assert list(STUDY.figures(scored)) == ["barrier", "scores"]
    assert not [notice for notice in scored.notices if "no score" in notice]


def test_no_two_grey_lines_look_alike() -> None:
    kinds = [(kind, order) for kind in (ONE_ORIGIN, OTHER_ORIGINS) for order in (RAW, TURNED, KEPT)]
    _, looks = charts._named(pd.DataFrame(kinds, columns=["relation", "order"]))
    greys = [(tuple(look.dash), look.shape) for look in looks.values() if look.colour == GREY]
    assert len(set(greys)) == len(greys) == 4
    assert len({dash for dash, _ in greys[::2]}) == 2, "those of the random change"


def test_the_headline_names_what_is_not_detectable_and_what_lies_below() -> None:
    facts = [
        Statement(ONE_ORIGIN, TASK, Estimate(0.01, -0.02, 0.03), baseline=RAW, metric="UAS"),
        Statement(ONE_ORIGIN, MOVED, Estimate(0.0), baseline=TURNED, metric="UAS"),
        Statement(OTHER_ORIGINS, TASK, Estimate(-0.3, -0.4, -0.2), baseline=RAW, metric="UAS"),
        Statement(OTHER_ORIGINS, MOVED, Estimate(-0.2), baseline=TURNED, metric="UAS"),
    ]
    assert make_headline(facts) == (
        "Halfway, UAS is not detectably off the mean of both ends (.01 [−.02, .03]) between models "
        "of one origin (a random change as large: .00 above) and .30 [.20, .40] below it between "
        "models of other origins (.20 below)."
    )


def hits(score: list[float], sentences: int = 100) -> np.ndarray:
    """Right answers of 100 in each sentence, (share, sentence)."""
    line = np.interp(SHARES, np.linspace(0, 1, len(score)), score)
    return np.repeat(np.round(100 * line).astype(np.int64)[:, None], sentences, axis=1)


def test_the_interval_of_a_random_change_covers_which_were_drawn() -> None:
    """Three changes of one pair that differ by more than sentences do."""
    changes = np.array([hits([0.8, middle, 0.8]) for middle in (0.5, 0.6, 0.7)])
    value = {"total": np.full(100, 100), "hits": hits([0.8, 0.8, 0.8])[None], "random": changes}
    pair = ("zoo:a", "zoo:b")
    pairs, paths = score_tables(
        {pair: value}, {pair: (RAW,)}, {pair: ONE_ORIGIN}, {"zoo:a": ("UAS", 0.3)}, 50, 0
    )
    half = paths[(paths["order"] == TURNED) & (paths["share"] == 0.5)].iloc[0]
    assert half["excess_score"] == pytest.approx(-0.2)
    width = stdtrit(2, 0.975) * 0.1 / np.sqrt(3)  # sentences are all alike
    for column, centre in (("excess_score_high", -0.2), ("high", 0.6)):
        assert half[column] == pytest.approx(centre + width)
    barrier = pairs.set_index("order").loc[TURNED]
    assert barrier["high"] - barrier["score_barrier"] == pytest.approx(width)
    lossy = pd.DataFrame({"order": [RAW], "relation": [ONE_ORIGIN], "share": [0.0]})
    facts = statements_of(lossy, paths, pd.DataFrame(columns=[*BASE_LOSSES]), "")
    assert [fact.verdict for fact in facts] == [TASK, MOVED]  # of pairs that have a loss
    assert facts[1].number.low == half["excess_score_low"]
    assert facts[1].number.size in make_headline(facts)


@pytest.mark.exhaustive
def test_two_tasks_are_each_scored_under_their_own_head(gold: str) -> None:
    # a base that predicts no tokens: scores alone
    table = joined("zoo:parse-0", "zoo:pos-0", base="zoo:parse-0", text=gold).tables["scored"]
    raw = table[table["order"] == RAW].set_index("model")
    assert raw["metric"].to_dict() == {"zoo:parse-0": "UAS", "zoo:pos-0": "tag accuracy"}
    assert (raw["score"] > raw["other_score"] + 0.3).all()
    assert KEPT not in set(table["order"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["seeds", "llama"])
def test_models_without_a_task_have_a_loss_and_no_score(kind: str, tmp_path: Path) -> None:
    refs = ["zoo:seed-0", "zoo:seed-1"]
    if kind == "llama":
        refs = [
            f"path:{save_tiny(tmp_path / str(seed), kind, head=True, seed=seed)}" for seed in (0, 1)
        ]
    result = joined(*refs, base=refs[0])
    assert len(result.table)
    assert "scored" not in result.tables
    assert [notice for notice in result.notices if "no score" in notice] == [
        f"Pairs of {refs[0]} and {refs[1]} have a loss and no score: these models have no head "
        "that labels the scored sentences or words."
    ]
    assert "No model has a head whose task could be scored." in result.methods
    assert list(STUDY.figures(result)) == ["barrier"]


@pytest.mark.exhaustive
def test_heads_of_other_sizes_are_refused_in_a_sentence(tmp_path: Path) -> None:
    small = copy_of("parse-0", tmp_path)
    config = json.loads((small / "config.json").read_text(encoding="utf8"))
    config["palimpsest_head"]["size"] = 32
    (small / "config.json").write_text(json.dumps(config), encoding="utf8")
    weights = load_file(small / "model.safetensors")
    for name in weights:
        if name.startswith("arc_head."):
            cut = weights[name][: 33 if name.endswith("pair") else 32]
            weights[name] = (cut[:, :32] if name.endswith("pair") else cut).contiguous()
    save_file(weights, small / "model.safetensors", metadata={"format": "pt"})
    result = joined("zoo:parse-0", f"path:{small}")
    assert "weights of other names or shapes" in " ".join(result.failures.values())
    assert len(result.table)
    assert "scored" not in result.tables


@pytest.mark.exhaustive
def test_losses_are_there_where_no_example_can_be_read(tmp_path: Path) -> None:
    result = joined("zoo:seed-0", "zoo:parse-0", text=str(tmp_path / "none.conllu"))
    assert "none.conllu" in " ".join(result.failures.values())
    assert len(result.table)
    assert "scored" not in result.tables


def test_the_price_counts_the_tasks_that_can_be_scored() -> None:
    tasks = expected_tasks(STUDY, BarrierSpec(), Sizes())
    assert [task.role[1:] for task in tasks if task.role[0] == SCORES] == [
        ("zoo:parse-0", other) for other in ("zoo:seed-0", "zoo:seed-1", "zoo:nli-0")
    ]
