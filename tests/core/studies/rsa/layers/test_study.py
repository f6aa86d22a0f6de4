"""The study from end to end on tiny models of which it is known what was changed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from core.commands.main import main
from core.errors import CorpusError, ModelError, SpecError
from core.maths.similarity.influence import without_influential
from core.maths.similarity.registry import Measure, compare, get_measure
from core.models.changes import Change
from core.models.identity import describe_copies
from core.results.estimates import Estimate, estimate_of
from core.results.export import Result
from core.results.names import short_name, short_names
from core.results.numbers import text_of
from core.results.statements import Statement
from core.runs.runner import run
from core.studies.notices import ONE_SENTENCE, few_sentences, start_notices
from core.studies.rsa.layers import charts, study
from core.studies.rsa.layers.differences import (
    DIFFERS,
    LOWEST,
    NOT_FROM_BASE,
    REFERENCE,
    RUNS,
    SCALED,
    WEIGHT_CHANGE,
)
from core.studies.rsa.layers.notice_text import (
    items_in_words,
    jackknife_in_words,
    others_than,
    said,
)
from core.studies.rsa.layers.runs import find_references, pooled_by_name
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.layers.views import curves_sentences
from core.study import run_first_stage
from core.text.corpora import Corpus, Sentence
from core.text.reading import read_text, repeated_sentences
from core.vectors.notices import other_depth
from core.vectors.pairs import extract_pair, sample_words
from tests import ROOT
from tests.cases import exhaustive
from tests.core.studies.rsa.facts import all_stated, stated, unnamed
from tests.core.tiny_models import D_MODEL, LAYERS, save_tiny

COLUMNS = ["model", "layer", "similarity", "low", "high", "null_low", "null_high"]
CALIBRATED = ["calibrated", "calibrated_low", "calibrated_high"]
CURVES = [*COLUMNS, "relative_change", "apart", "scaled", "runs", *CALIBRATED]
PLACES = ("door", "room", "dog", "man", "things", "house", "bridge", "river")
VERBS = ("opened", "went", "left", "saw", "held")


def _sentences(count: int = 40, genre: str = "news", start: int = 0) -> tuple[Sentence, ...]:
    """Different sentences from place `start` of one random order of all."""
    every = list(product(PLACES, VERBS, PLACES))
    order = np.random.default_rng(0).permutation(len(every))[start : start + count]
    return tuple(
        Sentence(("the", "old", subject, verb, "the", place, "quietly"), genre=genre)
        for subject, verb, place in (every[number] for number in order)
    )


STATES = {"references": False, "functions": False}  # where a test looks at these alone
CORPORA = {"demo": Corpus("demo", _sentences(40) + _sentences(20, "fiction", 40), ("A notice.",))}


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A box of tiny models: two seeds, and seed-0 with its top layer overwritten."""
    from safetensors.numpy import load_file, save_file

    folder = tmp_path_factory.mktemp("box")
    for seed in (0, 1):
        save_tiny(folder / "models" / f"seed-{seed}", "bert", seed=seed)
    tuned = folder / "models" / "tuned-0"
    shutil.copytree(folder / "models" / "seed-0", tuned)
    weights = load_file(tuned / "model.safetensors")
    rng = np.random.default_rng(0)
    for name, value in sorted(weights.items()):  # their order in the file is not fixed
        if f"layer.{LAYERS - 1}." in name:
            weights[name] = value + 0.3 * rng.standard_normal(value.shape).astype(value.dtype)
    save_file(weights, tuned / "model.safetensors", metadata={"format": "pt"})
    third = folder / "models" / "tuned-1"
    shutil.copytree(tuned, third)
    origin = load_file(folder / "models" / "seed-0" / "model.safetensors")
    near = {name: origin[name] + (value - origin[name]) / 3.0 for name, value in weights.items()}
    save_file(near, third / "model.safetensors", metadata={"format": "pt"})
    save_tiny(folder / "models" / "deep-0", "bert", num_hidden_layers=5)
    return folder


@pytest.fixture(autouse=True)
def _in_the_box(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(box))


def _run(**changes: object) -> Result:
    settings = {
        "base": "zoo:seed-0",
        "compare": ("zoo:tuned-0",),
        "words": 200,
        **changes,
    }
    return study.STUDY.run(RsaSpec(**settings), CORPORA)  # type: ignore[arg-type]


def test_a_model_that_was_not_trained_from_the_base_changes_nothing_of_it() -> None:
    result = _run(compare=("zoo:seed-1", "zoo:tuned-0"), references=False)
    stranger = stated(result.statements, NOT_FROM_BASE)
    assert (stranger.subject, stranger.baseline) == ("zoo:seed-1", "zoo:seed-0")
    apart = result.table.drop_duplicates("model").set_index("model")["apart"]
    (said,) = start_notices(
        "zoo:seed-0", {ref: Change(apart=value) for ref, value in apart.items()}
    )
    assert "seed-1" in said
    assert said in result.notices
    assert "fine-tune" not in " ".join(curves_sentences(result))
    assert stated(result.statements, DIFFERS, "zoo:tuned-0").layers == (LAYERS,)
    related = _run(references=False)
    assert not all_stated(related.statements, NOT_FROM_BASE)
    assert said not in related.notices


def test_a_study_finds_the_layer_that_was_changed() -> None:
    result = _run()
    table = result.table
    assert list(table.columns) == CURVES
    assert table["layer"].tolist() == list(range(LAYERS + 1))
    assert table["similarity"].tolist()[:LAYERS] == pytest.approx([1.0] * LAYERS, abs=1e-6)
    top = table.iloc[-1]
    assert top["low"] < top["similarity"] < top["high"] < 0.9
    of_top = {"subject": "zoo:tuned-0", "layers": (LAYERS,), "baseline": "zoo:seed-0"}
    assert stated(result.statements, DIFFERS) == Statement(verdict=DIFFERS, **of_top)
    score = estimate_of(top, "similarity")
    assert stated(result.statements, LOWEST) == Statement(verdict=LOWEST, estimate=score, **of_top)
    assert not unnamed(result.statements, result.headline)
    references = result.tables["references"]
    assert list(references.columns) == [*COLUMNS, *CALIBRATED]
    for rows in (table, references):
        room = 1.0 - rows["null_high"]
        for name, value in zip(CALIBRATED, ("similarity", "low", "high"), strict=True):
            expected = (rows[value] - rows["null_high"]) / room
            assert rows[name].to_numpy() == pytest.approx(expected.to_numpy())
    assert list(dict.fromkeys(references["model"])) == ["zoo:seed-1", "random:zoo:seed-0"]
    reference = stated(result.statements, REFERENCE)
    assert (reference.subject, reference.layers) == ("zoo:seed-1", (LAYERS,))
    seed = references[(references["model"] == "zoo:seed-1") & (references["layer"] == LAYERS)].iloc[
        0
    ]
    assert reference.estimate == estimate_of(seed, "similarity")
    assert "A notice." in result.notices
    assert not result.failures
    assert set(result.provenance["fingerprints"]) == {
        "zoo:seed-0",
        "zoo:tuned-0",
        "zoo:seed-1",
        "random:zoo:seed-0",
    }


def test_a_second_run_computes_nothing_and_says_the_same() -> None:
    spec = RsaSpec("zoo:seed-0", ("zoo:tuned-0",), words=100)
    ready, again = (run_first_stage(study.prepare(spec, CORPORA)) for _ in range(2))
    first, second = run(study.plan(spec, ready)), run(study.plan(spec, again))
    assert (first.stored, second.stored) == (0, 5)
    one, two = study.STUDY.result(spec, ready, first), study.STUDY.result(spec, again, second)
    assert one.table.equals(two.table)
    assert one.headline == two.headline


@pytest.mark.exhaustive
def test_every_measure_and_kind_of_items_goes_through() -> None:
    for measure in study.MEASURES:
        result = _run(measure=measure, references=False, standardise=True, words=100)
        assert result.table["similarity"].iloc[0] == pytest.approx(1.0, abs=1e-6)
    for items in ("cls", "mean"):
        result = _run(items=items, references=False, drop_rogue=2)
        assert result.table["similarity"].iloc[1] == pytest.approx(1.0, abs=1e-6)
        assert items_in_words(RsaSpec(items=items), 60, 60) in result.methods


def test_cls_at_the_embeddings_does_not_vary_and_is_said_not_to() -> None:
    result = _run(items="cls", references=False)
    assert np.isnan(result.table["similarity"].iloc[0])
    assert said("flat", model="tuned-0", layers="layer 0") in result.notices
    assert charts.similarity_chart(result, "states").to_dict()


def test_a_layer_loses_the_words_without_which_rsa_changes_most() -> None:
    spec = RsaSpec("zoo:seed-0", ("zoo:tuned-0",), words=200)
    task = study.plan(spec, run_first_stage(study.prepare(spec, CORPORA)))[0]
    paired = extract_pair("zoo:seed-0", "zoo:tuned-0", dict(task.arguments)["items"])
    x, y = paired.base[LAYERS], paired.compared[LAYERS]
    kept = without_influential(x, y, 5.0)
    assert len(kept) == len(x) - -(-len(x) // 20)
    result = _run(drop_influential=5.0, references=False, grid=True)
    top = result.table.iloc[-1]["similarity"]
    assert top == pytest.approx(compare(x[kept], y[kept]))
    grid = result.tables["grid"].set_index(["base_layer", "layer"])["similarity"]
    assert grid[LAYERS, LAYERS] == pytest.approx(top)
    assert said("influence", percent=5.0) in result.methods


@pytest.mark.exhaustive
def test_few_items_for_a_canonical_measure_are_never_silent() -> None:
    few = _run(measure="cca", items="mean", sentences=D_MODEL - 2, **STATES)
    label, others = "mean CCA", "RSA or debiased CKA"
    small = {"items": D_MODEL - 2, "width": D_MODEL, "others": others}
    assert said("too_few_items", label=label, **small) in few.notices
    some = _run(measure="cca", items="mean", **STATES)
    chance = text_of(some.table["null_high"].max())
    assert said("high_chance", label=label, chance=chance, others=others) in some.notices
    plain = _run(**STATES)
    assert not [notice for notice in plain.notices if notice.startswith("Chance level is high")]
    assert [others_than(name) for name in ("RSA", label)] == ["debiased CKA", others]


def test_one_sentence_has_no_band() -> None:
    long = {"demo": Corpus("demo", (Sentence(PLACES + VERBS),))}
    result = study.STUDY.run(RsaSpec("zoo:seed-0", ("zoo:tuned-0",), references=False), long)
    assert result.table["low"].isna().all()
    assert ONE_SENTENCE in result.notices


@pytest.mark.exhaustive
@pytest.mark.parametrize(("measure", "biased"), [("cka", True), ("cka-debiased", False)])
def test_bands_of_a_biased_measure_say_that_they_are_of_this_size(
    measure: str, biased: bool
) -> None:
    result = _run(measure=measure, **STATES)
    sentence = said("same_size", label=get_measure(measure).label, items=200)
    assert (sentence in result.notices) == (sentence in result.methods) == biased


@pytest.mark.exhaustive
def test_bands_of_few_sentences_say_what_they_are() -> None:
    few = _run(sentences=20, **STATES)
    assert few_sentences(20) in few.notices
    assert few_sentences(40) not in _run(sentences=40, **STATES).notices


@pytest.mark.exhaustive
def test_a_measure_is_a_function_of_two_arrays_and_an_entry(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the README promises of a measure: form, command line, null and band follow."""

    def nearest(x: np.ndarray, y: np.ndarray) -> float:
        """Share of items with a nearest neighbour that is the same item in both spaces.

        The same word in the same place has nearly the same vector: all within a thousandth
        of the nearest are nearest, or the processor's rounding would choose between them.
        """
        near = []
        for space in (np.asarray(x), np.asarray(y)):
            apart = cdist(space, space)
            np.fill_diagonal(apart, np.inf)
            near.append(apart <= apart.min(axis=1, keepdims=True) + 1e-3 * space.std())
        return float(np.mean((near[0] & near[1]).any(axis=1)))

    entry = Measure(
        "nearest",
        "same nearest neighbour",
        nearest,
        "share of items with the same neighbour",
        ("ding2021",),
    )
    monkeypatch.setitem(study.MEASURES, "nearest", entry)
    result = _run(measure="nearest", compare=("zoo:tuned-1",), **STATES)
    top, first = result.table.iloc[-1], result.table.iloc[0]
    assert first["similarity"] == 1.0
    assert top["low"] < top["similarity"] < top["high"]
    assert top["null_low"] <= top["null_high"] < top["low"]
    assert stated(result.statements, LOWEST).estimate == estimate_of(top, "similarity")
    assert entry.label in result.headline
    assert jackknife_in_words(result.sentences_read or 0) in result.methods
    assert "ding2021" in [paper.key for paper in result.citations]
    text = tmp_path / "text.txt"
    text.write_text(
        "\n".join(" ".join(sentence.words) for sentence in _sentences(40)), encoding="utf8"
    )
    command = [
        "rsa",
        "--compare",
        "zoo:tuned-0",
        "--corpus",
        str(text),
        "--no-references",
        "--measure",
        "nearest",
        "--no-functions",
        "--words",
        "200",
    ]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    assert entry.label in capsys.readouterr().out


def test_the_null_is_a_band_and_two_lines() -> None:
    """A line mark that is filled closes itself to a polygon, which covers half the chart."""
    layers = charts.similarity_chart(_run(references=False), "states").to_dict()["layer"]
    band = next(layer["layer"] for layer in layers if "layer" in layer)
    assert [layer["mark"]["type"] for layer in band] == ["area", "line", "line"]
    fields = [layer["encoding"]["y"]["field"] for layer in band]
    assert fields == ["null_low", "null_low", "null_high"]
    assert "line" not in band[0]["mark"]
    assert not any("fill" in layer["encoding"] for layer in band if layer["mark"]["type"] == "line")


def test_too_few_items_fail_in_a_sentence() -> None:
    short = {"demo": Corpus("demo", tuple(Sentence(("the", place)) for place in PLACES[:3]))}
    result = study.STUDY.run(RsaSpec("zoo:seed-0", ("zoo:tuned-0",), references=False), short)
    assert "can read 6 of the items" in result.failures["zoo:tuned-0"]
    assert (result.headline, result.statements) == (study.STUDY.words.nothing, ())
    assert list(result.table.columns) == CURVES


def test_a_model_that_is_missing_fails_alone() -> None:
    result = _run(compare=("zoo:tuned-0", "zoo:gone-0"), references=False)
    assert list(dict.fromkeys(result.table["model"])) == ["zoo:tuned-0"]
    assert list(result.failures) == ["zoo:gone-0"]
    with pytest.raises(ModelError, match="gone-0"):
        _run(base="zoo:gone-0")


def test_models_of_another_depth_are_matched_with_a_notice() -> None:
    result = _run(compare=("zoo:deep-0",), references=False)
    assert len(result.table) == LAYERS + 1
    assert other_depth("zoo:seed-0", LAYERS, "zoo:deep-0", 5) in result.notices


def test_grid_and_second_corpus() -> None:
    result = _run(grid=True, genres=("news",), against_genres=("fiction",), references=False)
    grid = result.tables["grid"]
    assert list(grid.columns) == ["model", "base_layer", "layer", "similarity"]
    assert len(grid) == (LAYERS + 1) ** 2
    matrix = grid["similarity"].to_numpy().reshape(LAYERS + 1, LAYERS + 1)
    assert np.diag(matrix)[:LAYERS] == pytest.approx(1.0)
    assert matrix[1, 2] == pytest.approx(matrix[2, 1]), "both models share these layers"
    domains = result.tables["domains"]
    assert list(domains.columns) == ["corpus", *CURVES]
    assert list(dict.fromkeys(domains["corpus"])) == ["demo (news)", "demo (fiction)"]
    assert (
        domains[domains["corpus"] == "demo (news)"]["similarity"].tolist()
        == result.table["similarity"].tolist()
    )
    with pytest.raises(CorpusError, match="legal"):
        _run(genres=("legal",))


def test_figures_are_charts_with_titles_and_no_background() -> None:
    result = _run(grid=True, against="demo", against_genres=("fiction",))
    drawn = study.STUDY.figures(result)
    assert list(drawn) == ["similarity", "grid", "domains"]
    for chart in (
        *drawn.values(),
        charts.grid_chart(result, "zoo:tuned-0"),
        charts.domains_chart(result, "demo"),
    ):
        spec = chart.to_dict()
        assert "background" not in spec
        assert "title" in json.dumps(spec)
    assert len(drawn["similarity"].to_dict()["concat"]) == 2, "states and functions"
    plain = _run(references=False)
    assert list(study.STUDY.figures(plain)) == ["similarity"]


def test_references_of_other_bases() -> None:
    assert find_references(RsaSpec("zoo:tuned-0", ("zoo:seed-0",))) == ("random:zoo:tuned-0",)
    assert find_references(RsaSpec("random:zoo:seed-0", ("zoo:seed-0",))) == ()
    assert find_references(RsaSpec("zoo:seed-1", ("zoo:seed-0",))) == (
        "zoo:seed-0",
        "random:zoo:seed-1",
    )
    assert find_references(RsaSpec("zoo:seed-0", ("zoo:seed-1",), references=False)) == ()


def test_what_the_key_depends_on() -> None:
    def keys(**changes: object) -> list[str]:
        settings = {
            "base": "zoo:seed-0",
            "compare": ("zoo:tuned-0",),
            "references": False,
            **changes,
        }
        spec = RsaSpec(**settings)  # type: ignore[arg-type]
        return [task.key for task in study.plan(spec, run(study.prepare(spec, CORPORA)))]

    plain = keys()
    assert keys() == plain
    for change in (
        {"measure": "cka"},
        {"kernel": "euclidean"},
        {"comparison": "rho-a"},
        {"items": "mean"},
        {"words": 50},
        {"sentences": 20},
        {"standardise": True},
        {"drop_rogue": 1},
        {"drop_influential": 1.0},
        {"seed": 1},
        {"one_per_word": True},
        {"genres": ("fiction",)},
        {"base": "zoo:seed-1"},
    ):
        assert keys(**change) != plain, change
    assert keys(drop_influential=0.0) == plain, "stored results are of all words"
    assert set(keys(grid=True)) > set(plain), "a grid adds a task and changes none"
    assert keys(measure="cka", kernel="euclidean") == keys(measure="cka"), "a kernel is RSA's alone"


def test_sampled_words_are_spread_over_all_sentences() -> None:
    words = tuple(sentence.words for sentence in _sentences(30))
    used, kept = sample_words(words, 50, np.random.default_rng(0))
    assert sum(len(positions) for positions in kept) == 50
    assert len(used) == len(kept) > 15
    assert all(len(set(positions)) == len(positions) and max(positions) < 7 for positions in kept)
    used, kept = sample_words(words, 10_000, np.random.default_rng(0))
    assert used.tolist() == list(range(30))
    assert set(kept) == {tuple(range(7))}


def test_the_size_of_the_weight_change_stands_beside_each_curve(box: Path) -> None:
    result = _run(compare=("zoo:tuned-0", "zoo:tuned-1"), pool_runs=False, references=False)
    sizes = result.table.drop_duplicates("model").set_index("model")["relative_change"]
    assert sizes["zoo:tuned-0"] == pytest.approx(_relative_change(box, "tuned-0"), rel=1e-6)
    assert sizes["zoo:tuned-1"] == pytest.approx(sizes["zoo:tuned-0"] / 3.0, rel=1e-4)
    for model, size in sizes.items():
        assert stated(result.statements, WEIGHT_CHANGE, model).estimate == Estimate(size)
    assert not unnamed(result.statements, result.headline)
    least, most = (text_of(sizes[ref]) for ref in ("zoo:tuned-1", "zoo:tuned-0"))
    assert said("unequal", least=least, most=most) in result.notices
    drawn = json.dumps(charts.similarity_chart(result, "states").to_dict())
    assert f"tuned-1 ({text_of(sizes['zoo:tuned-1'])})" in drawn
    alone = _run(references=False)
    assert len(alone.notices) == len(result.notices) - 1, "one change cannot be unequal"


def _relative_change(box: Path, name: str) -> float:
    """Over matrices of the layers, by loops."""
    from safetensors.numpy import load_file

    base, other = (
        load_file(box / "models" / each / "model.safetensors") for each in ("seed-0", name)
    )
    moved = size = 0.0
    for tensor in base:
        if ".layer." in tensor and base[tensor].ndim == 2:
            moved += float(np.sum((other[tensor].astype(float) - base[tensor]) ** 2))
            size += float(np.sum(base[tensor].astype(float) ** 2))
    return float(np.sqrt(moved / size))


@pytest.mark.exhaustive
def test_at_matched_size_every_model_lies_as_far_as_the_smallest() -> None:
    """tuned-1 is a third of the way to tuned-0: shrunk to its size, tuned-0 has its vectors."""
    both = {"compare": ("zoo:tuned-0", "zoo:tuned-1"), "references": False, "pool_runs": False}
    result, plain = _run(matched_size=True, **both), _run(functions=False, **both)
    shrunk, small = (
        result.table[result.table["model"] == f"zoo:tuned-{number}"] for number in (0, 1)
    )
    assert shrunk["scaled"].tolist() == pytest.approx([1.0 / 3.0] * len(shrunk), rel=1e-4)
    assert small["scaled"].tolist() == [1.0] * len(small)
    assert shrunk["similarity"].tolist() == pytest.approx(small["similarity"].tolist(), abs=1e-3)
    whole = plain.table[plain.table["model"] == "zoo:tuned-0"]["similarity"]
    assert whole.iloc[-1] < shrunk["similarity"].iloc[-1] - 0.05
    scaled = stated(result.statements, SCALED, "zoo:tuned-0").estimate
    assert scaled is not None
    assert scaled.value == pytest.approx(small["relative_change"].iloc[0], rel=1e-4)
    assert said("matched") in result.methods
    assert said("interpolated") in result.notices
    again = _run(functions=False, **both)
    assert again.table.equals(plain.table), "the model that was moved lies where it lay"


def test_a_model_without_a_size_cannot_be_matched() -> None:
    result = _run(compare=("zoo:tuned-0", "random:zoo:seed-0"), matched_size=True, references=False)
    assert set(result.table["model"]) == {"zoo:tuned-0"}
    assert result.failures["random:zoo:seed-0"] == said("without_size")
    with pytest.raises(SpecError, match=re.escape(said("no_size"))):
        _run(compare=("random:zoo:seed-0",), matched_size=True, references=False)


@pytest.mark.exhaustive
def test_runs_of_one_task_become_one_curve() -> None:
    pooled = _run(compare=("zoo:tuned-*",), references=False)
    assert set(pooled.table["model"]) == {"zoo:tuned-*"}
    assert set(pooled.table["runs"]) == {2}
    runs_pooled = stated(pooled.statements, RUNS)
    assert (runs_pooled.subject, runs_pooled.estimate) == (
        "zoo:tuned-*",
        Estimate(2.0, kind="whole"),
    )
    assert not unnamed(pooled.statements, pooled.headline)
    assert said("pooled") in pooled.methods
    runs = _run(compare=("zoo:tuned-*",), pool_runs=False, **STATES).table
    assert set(runs["model"]) == {"zoo:tuned-0", "zoo:tuned-1"}
    means = runs.groupby("layer")["similarity"].mean()
    assert pooled.table["similarity"].tolist() == pytest.approx(means.tolist())
    assert pooled.tables["runs"]["similarity"].tolist() == runs["similarity"].tolist()
    top = pooled.table.iloc[-1]
    mine = runs[runs["layer"] == top["layer"]]["similarity"]
    over_runs = 12.706 * mine.std(ddof=1) / np.sqrt(2)  # Student's t with one degree of freedom
    assert over_runs > 2.0, "runs that differ so much say nothing"
    assert (top["low"], top["high"]) == (-1.0, 1.0), "a correlation is never below -1"
    assert charts.similarity_chart(pooled, "states").to_dict()
    with pytest.raises(SpecError, match="zoo:none"):
        _run(compare=("zoo:none-*",))


@pytest.mark.exhaustive
def test_runs_that_were_pooled_by_their_names_are_said_to_be() -> None:
    (notice,) = pooled_by_name({"zoo:tuned-*": ("zoo:tuned-0", "zoo:tuned-1")})
    pooled = _run(compare=("zoo:tuned-*",), **STATES)
    assert notice in pooled.notices
    apart = _run(compare=("zoo:tuned-*",), pool_runs=False, **STATES)
    assert notice not in apart.notices


@pytest.mark.exhaustive
def test_copies_of_a_model_are_no_further_runs(box: Path, tmp_path: Path) -> None:
    for number in range(3):
        shutil.copytree(box / "models" / "tuned-0", tmp_path / f"tuned-{number}")
    refs = [f"path:{tmp_path}/tuned-{number}" for number in range(3)]
    result = _run(compare=(f"path:{tmp_path}/tuned-*",), references=False)
    assert set(result.table["model"]) == {refs[0]}
    assert set(result.table["runs"]) == {1}
    assert "runs" not in result.tables
    assert describe_copies(dict.fromkeys(refs[1:], refs[0]))[0] in result.notices
    assert not result.failures


def test_one_sentence_many_times_is_one_sentence() -> None:
    text = _sentences(20)
    once = _run_on(text)
    often = _run_on(text * 4)
    assert often.table.equals(once.table)
    assert few_sentences(20) in often.notices
    assert repeated_sentences("demo", 80, 60) in often.notices


def _run_on(text: tuple[Sentence, ...]) -> Result:
    spec = RsaSpec("zoo:seed-0", ("zoo:tuned-0",), words=60, references=False)
    return study.STUDY.run(spec, {"demo": Corpus("demo", text)})


def test_one_occurrence_per_word() -> None:
    words = (("The", "dog", "saw", "the", "door"), ("the", "dog", "left"))
    used, kept = sample_words(words, 100, np.random.default_rng(0), once=True)
    drawn = [
        words[number][word].casefold()
        for number, places in zip(used, kept, strict=True)
        for word in places
    ]
    assert sorted(drawn) == ["dog", "door", "left", "saw", "the"]
    places = {
        tuple(map(tuple, sample_words(words, 100, np.random.default_rng(seed), True)[1]))
        for seed in range(20)
    }
    assert len(places) > 3, "which occurrence is left to chance"
    assert sum(map(len, sample_words(words, 3, np.random.default_rng(0), once=True)[1])) == 3
    result = _run(one_per_word=True, references=False)
    types = {word for sentence in CORPORA["demo"].sentences for word in sentence.words}
    assert items_in_words(RsaSpec(), len(types), 60) in result.methods
    assert said("once") in result.methods


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"compare": ()}, "at least 1 .*compare"),
        ({"measure": "nope"}, "measure takes one of rsa, cka"),
        ({"kernel": "nope"}, "kernel takes one of cosine, correlation, euclidean, not nope"),
        ({"comparison": "nope"}, "comparison takes one of pearson"),
        ({"items": "nope"}, "items takes one of words, cls, mean"),
        ({"words": 5}, "words takes a whole number from 10 to 20,000, not 5"),
        ({"words": 6000, "comparison": "spearman"}, "words takes a whole number up to 5,000"),
        ({"words": 10.5}, "words takes a whole number"),
        ({"drop_rogue": -1}, "drop_rogue"),
        ({"seed": True}, "seed"),
        ({"sentences": 1}, "sentences"),
        ({"corpus": ""}, "is not a text"),
        ({"items": "cls", "one_per_word": True}, "one_per_word .* cls"),
        ({"measure": "cka", "drop_influential": 1.0}, "drop_influential .* cka"),
        ({"drop_influential": 21.0}, "drop_influential"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(change: dict[str, object], message: str) -> None:
    settings = {"base": "zoo:seed-0", "compare": ("zoo:tuned-0",), **change}
    with pytest.raises(SpecError, match=message):
        RsaSpec(**settings)  # type: ignore[arg-type]


def test_a_spec_knows_references_from_nonsense_and_repeats() -> None:
    with pytest.raises(ModelError, match="bert"):
        RsaSpec("bert", ("zoo:tuned-0",))
    assert RsaSpec("zoo:a", ("zoo:b", "zoo:b")).compare == ("zoo:b",)
    assert RsaSpec("zoo:a", ["zoo:b"]).plain()["compare"] == ["zoo:b"]  # type: ignore[arg-type]


def test_short_names() -> None:
    assert short_name("zoo:parse-0") == "parse-0"
    assert short_name("hub:org/bert@main") == "bert@main"
    assert short_name("random:zoo:seed-0") == "untrained seed-0"
    assert short_names(("hub:a/bert", "hub:b/bert", "zoo:x")) == {
        "hub:a/bert": "hub:a/bert",
        "hub:b/bert": "hub:b/bert",
        "zoo:x": "x",
    }


def test_command_line_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text(
        "\n".join(" ".join(sentence.words) for sentence in _sentences(30)), encoding="utf8"
    )
    command = [
        "rsa",
        "--base",
        "zoo:seed-0",
        "--compare",
        "zoo:tuned-0",
        "--corpus",
        str(text),
    ]
    assert main([*command, "--out", str(tmp_path / "one")]) == 0
    first = capsys.readouterr()
    assert "tuned-0" in first.out.partition(". ")[0]
    assert "0 of 5 tasks were stored" in first.err
    record = json.loads((tmp_path / "one" / "result.json").read_text())
    assert record["spec"]["base"] == "zoo:seed-0"
    assert record["headline"] == first.out.splitlines()[0]
    assert {"versions", "fingerprints", "corpus"} <= set(record["provenance"])
    header = (tmp_path / "one" / "table.csv").read_text().splitlines()[0]
    assert header == ",".join(CURVES)
    assert "<svg" in (tmp_path / "one" / "figure.svg").read_text()

    # A second run, in a process of its own: the same table, nothing computed or drawn, nothing
    # heavy imported.
    probe = (
        "import sys; from core.commands.main import main; status = main(sys.argv[1:]); "
        "print({'torch', 'transformers', 'spacy', 'sklearn', 'scipy.stats', 'altair', "
        "'vl_convert'} & set(sys.modules)); "
        "sys.exit(status)"
    )
    again = subprocess.run(
        [sys.executable, "-c", probe, *command, "--out", str(tmp_path / "two")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "5 of 5 tasks were stored" in again.stderr
    assert again.stdout.splitlines()[-1] == "set()"
    assert (tmp_path / "two" / "table.csv").read_bytes() == (
        tmp_path / "one" / "table.csv"
    ).read_bytes()


FLAGS: list[tuple[list[str], dict[str, object]]] = [
    (["--standardise"], {"standardise": True}),
    (["--drop-rogue", "2"], {"drop_rogue": 2}),
    (["--drop-influential", "10"], {"drop_influential": 10.0}),
    (["--genres", "fiction"], {"genres": ("fiction",)}),
    (["--one-per-word"], {"one_per_word": True}),
    (["--compare", "zoo:tuned-0", "zoo:tuned-1", "--matched-size"], {"matched_size": True}),
    (["--compare", "zoo:tuned-*", "--no-pool-runs"], {"pool_runs": False}),
]


@pytest.mark.parametrize(("flags", "options"), exhaustive(FLAGS, FLAGS[1], FLAGS[-1]))
def test_what_a_flag_asks_for_reaches_the_numbers(
    flags: list[str], options: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pandas as pd

    read: Any = lambda ref, limit, genres: read_text(ref, genres, limit, CORPORA[ref])  # noqa: E731
    monkeypatch.setattr("core.text.reading.read_corpus", read)
    plain = [
        "rsa",
        "--compare",
        "zoo:tuned-0",
        "--no-references",
        "--no-functions",
        "--words",
        "100",
    ]
    assert main([*plain, *flags, "--out", str(tmp_path / "out")]) == 0
    shown = pd.read_csv(tmp_path / "out" / "table.csv")["similarity"].tolist()
    compare = tuple(flag for flag in flags if flag.startswith("zoo:")) or ("zoo:tuned-0",)
    settings: dict[str, object] = {
        "compare": compare,
        "words": 100,
        **STATES,
    }
    assert shown == pytest.approx(
        _run(**{**settings, **options}).table["similarity"].tolist(), abs=1e-6
    )
    assert shown != pytest.approx(_run(**settings).table["similarity"].tolist(), abs=1e-4)


def test_command_line_with_a_failure_and_with_nonsense(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(
        "\n".join(" ".join(sentence.words) for sentence in _sentences(30)), encoding="utf8"
    )
    command = [
        "rsa",
        "--compare",
        "zoo:gone-0",
        "zoo:tuned-0",
        "--corpus",
        str(text),
        "--no-references",
    ]
    assert main([*command, "--out", str(tmp_path / "out")]) == 1
    assert "gone-0" in capsys.readouterr().err
    assert (
        main(["rsa", "--compare", "zoo:tuned-0", "--words", "1", "--out", str(tmp_path / "out")])
        == 2
    )
    assert "words takes a whole number from 10" in capsys.readouterr().err
