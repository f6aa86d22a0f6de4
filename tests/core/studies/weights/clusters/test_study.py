"""The study on a small zoo: what it finds, what it says, what it leaves out, what it keeps."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.errors import CancelledError, PalimpsestError, SpecError, TaskError
from core.maths.spectra.nulls import null_projector_distance
from core.maths.spectra.registry import VECTORS, Features, calc_distances
from core.models.identity import Identity, describe_copies
from core.results.columns import meaning
from core.results.export import Result
from core.results.numbers import text_of
from core.results.statements import Statement
from core.runs.runner import Outputs, Progress, run
from core.runs.store import Store, using
from core.runs.tasks import Signal
from core.studies.weights.clusters import planning, selection
from core.studies.weights.clusters.distances import redraw
from core.studies.weights.clusters.notice_text import (
    describe_strangers,
    describe_table,
    describe_unscored,
    said,
)
from core.studies.weights.clusters.planning import plan, prepare
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
from core.studies.weights.clusters.tasks import kept_rank
from core.studies.weights.clusters.text import (
    ABOVE,
    OF_DISTANCES,
    TOO_FEW,
    VOTED,
)
from core.studies.weights.clusters.views import MAP
from core.studies.weights.ranks import (
    CHANCE,
    LOWER,
    OF_A_PAIR,
    OF_RANKS,
    OF_TRENDS,
    RANK_COLUMNS,
    RANKED,
    rank_sentence,
)
from core.studies.weights.unlabelled import UNLABELLED, unlabelled_sentence
from core.study import run_first_stage
from tests.core.small_zoo import base_tensors, tuned_tensors, write_model, write_zoo

SPEC = WeightsSpec(rank=3, permutations=200)


def of_headline(result: Result) -> list[Statement]:
    """What is stated for the headline, not for the views of distances and ranks."""
    of_views = (*OF_RANKS, *OF_TRENDS, *OF_DISTANCES)
    return [each for each in result.statements if each.verdict not in of_views]


def measured(spec: WeightsSpec) -> Outputs:
    """What the study's tasks brought."""
    return run(plan(spec, run_first_stage(prepare(spec))))


@pytest.fixture(scope="module")
def result(zoo_on_disk: Path, tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALIMPSEST_ZOO", str(zoo_on_disk))
        patch.setenv("PALIMPSEST_STORE", str(tmp_path_factory.mktemp("store")))
        return STUDY.run(replace(SPEC, of="both"))


def test_planted_tasks_are_found(result) -> None:
    assert not result.failures
    assert list(result.tables["neighbours"].columns) == ["k", "share", "chance", "p_value"]
    two = result.tables["neighbours"].set_index("k").loc[2]
    assert two["share"] == pytest.approx(1)
    assert two["chance"] == pytest.approx(2 / 8)
    assert two["p_value"] < 0.01
    assert result.tables["predictions"]["correct"].all()
    share, chance = result.statements[:2]
    vote = next(each for each in result.statements if each.verdict == VOTED)
    assert (share.subject, share.verdict, share.estimate.value) == ("projector", ABOVE, 1)
    assert chance.estimate.value == pytest.approx(2 / 8)
    assert (vote.estimate.value, vote.baseline) == (9, "9 models")
    assert all(each.named_in(result.headline) for each in of_headline(result))
    assert text_of(two["p_value"], "p") in result.headline
    assert result.headline.startswith("A vote of the two nearest neighbours names the task of 9 of")
    first = next(iter(STUDY.figures(result).values())).to_dict()
    assert "Right for 9 of 9" in first["title"]["subtitle"]


def test_ranks_are_a_notice_where_neighbours_are_the_headline(result) -> None:
    said = rank_sentence(result.statements, SPEC.threshold)
    assert said in result.notices
    assert said not in result.headline


def test_norms_and_every_other_vector_stand_in_the_headline(result) -> None:
    two = result.tables["vectors"].query("k == 2").set_index("vector")
    stated = {each.subject: each for each in result.statements if each.baseline == CHANCE}
    assert set(stated) == set(VECTORS)
    for vector, each in stated.items():
        assert each.estimate.value == two.loc[vector, "share"]
        assert each.named_in(result.headline)
    assert text_of(two.loc["norms", "p_value"], "p") in result.headline


def test_every_column_is_explained(result) -> None:
    for name, table in result.tables.items():
        assert [column for column in table.columns if meaning(name, str(column)) is None] == [], (
            name
        )


def test_norms_that_name_the_task_are_above_chance_with_the_recipe_beside_them(
    variants: Path,
) -> None:
    """Planted: each task moved to a size of its own, by one rate and as many steps."""
    result = STUDY.run(SPEC)
    norms = next(each for each in result.statements if each.subject == "norms")
    assert (norms.verdict, norms.estimate.value) == (ABOVE, 1)
    assert "(rate 0.001, 100 steps)" in result.headline
    chosen = STUDY.run(replace(SPEC, vector="norms"))
    assert (chosen.statements[0].subject, chosen.statements[0].verdict) == ("norms", ABOVE)
    assert "(rate 0.001, 100 steps)" in chosen.headline
    assert "subspaces 100 %" in chosen.headline


def test_too_few_models_are_said_to_be_too_few(zoo: Path) -> None:
    """Two pairs: perfect neighbours have p = 1/3. Nobody may read that as absence."""
    models = ("zoo:nli-0", "zoo:nli-1", "zoo:pos-0", "zoo:pos-1")
    result = STUDY.run(replace(SPEC, models=models))
    assert (result.statements[0].verdict, result.statements[0].estimate.value) == (TOO_FEW, 1)
    assert {each.verdict for each in result.statements if each.baseline == CHANCE} == {TOO_FEW}
    assert "4 models" in result.headline
    assert ".33" in result.headline
    assert result.tables["vectors"]["smallest_p"].min() == pytest.approx(1 / 3)


def test_more_neighbours_or_clusters_than_there_are_are_refused(zoo: Path) -> None:
    for changes, reason in (
        ({"neighbours": 50}, "50 neighbours .* 9 models have a label, so each has 8 others"),
        ({"neighbours": 9}, "9 neighbours .* up to 8"),
        ({"clusters": 10}, "10 clusters .* 9 models"),
    ):
        with pytest.raises(SpecError, match=reason):
            measured(replace(SPEC, **changes))
    result = STUDY.run(replace(SPEC, neighbours=8, clusters=9))
    assert int(result.arrays["k"]) == 8
    assert "eight neighbours" in result.headline


def test_frozen_layers_are_said_and_counted_and_break_nothing(variants: Path) -> None:
    result = STUDY.run(replace(SPEC, models=("zoo:*-*", "zoo:parse-frozen-2")))
    assert not result.failures
    row = result.table.set_index("model").loc["zoo:parse-frozen-2"]
    assert (row["unchanged"], row["frozen"], row["nearest"][:10]) == (12, 2, "zoo:parse-")
    assert result.table["unchanged"].sum() == 12
    unchanged = [notice for notice in result.notices if "12 of 18 matrices" in notice]
    assert len(unchanged) == 1
    assert unchanged[0].startswith("zoo:parse-frozen-2:")
    assert "all of layers 1, 2" in unchanged[0]
    ranks = result.tables["ranks"].query("model == 'zoo:parse-frozen-2'")
    assert (ranks.loc[ranks["layer"] <= 2, "rank"] == 0).all()
    assert (ranks.loc[ranks["layer"] <= 2, "relative_norm"] == 0).all()
    assert (ranks.loc[ranks["layer"] == 3, "rank"] > 0).all()
    for vector in VECTORS:
        assert np.isfinite(result.arrays[f"distances {vector}"]).all()
    alone = STUDY.run(replace(SPEC, models=("zoo:parse-frozen-2", "zoo:parse-slow")))
    assert len(alone.tables["distances"]) == 1


def test_another_map_is_a_task_that_is_stored(result, zoo: Path) -> None:
    seen: list[Progress] = []
    drawn = redraw(result, "tsne", progress=seen.append)
    assert drawn.spec["map"] == "tsne"
    assert not np.allclose(drawn.table[["x", "y"]], result.table[["x", "y"]])
    assert (seen[-1].total, seen[-1].stored) == (1, 0)
    assert any("t-SNE" in progress.note for progress in seen)
    redraw(result, "tsne", progress=seen.append)
    assert seen[-1].stored == 1
    assert redraw(result, "pca") is result


def test_every_vector_is_reported_side_by_side(result) -> None:
    vectors = result.tables["vectors"]
    assert set(vectors["vector"]) == set(VECTORS)
    assert vectors.groupby("vector")["k"].apply(list).map(lambda ks: ks == list(range(1, 9))).all()
    assert (vectors["null_low"] <= vectors["chance"] + 1e-9).all()
    assert set(result.tables["distances"].columns) == {"model", "other", *VECTORS}
    assert len(result.tables["distances"]) == 9 * 8 / 2


def test_ranks_stand_beside_their_null(result) -> None:
    ranks = result.tables["ranks"]
    assert list(ranks.columns) == RANK_COLUMNS
    planted = ranks[(ranks["of"] == "delta") & (ranks["threshold"] == 0.99)]
    assert planted["rank"].between(3, 6).all()  # three shared directions and three of the run's own
    own = ranks[(ranks["of"] == "weights") & (ranks["threshold"] == 0.9)]
    assert (abs(own["rank"] - own["null_rank"]) <= 2).all()  # the base is Gaussian
    assert set(own["model"]) == {"zoo:seed-0", *result.table["model"]}
    assert set(ranks["layer"]) == {1, 2, 3}
    assert result.tables["trends"].empty  # three layers carry no trend


def test_matrices_and_their_singular_values_go_together(result) -> None:
    matrices, values = result.tables["matrices"], result.arrays["spectra"]
    assert len(matrices) == len(values) == 9 * 18 + 10 * 18
    row = matrices.index[(matrices["model"] == "zoo:pos-1") & (matrices["family"] == "ff1")][0]
    base, tuned = base_tensors(0), tuned_tensors(base_tensors(0), 1, 1)
    name = "bert.encoder.layer.0.intermediate.dense.weight"
    expected = np.linalg.svd((tuned[name] - base[name]).astype(float), compute_uv=False)
    np.testing.assert_allclose(values[row], expected, atol=1e-7)
    assert matrices["relative_norm"][row] == pytest.approx(
        np.linalg.norm(expected) / np.linalg.norm(base[name]), rel=1e-5
    )


def test_the_result_says_what_it_was_made_of(result) -> None:
    assert set(result.provenance["fingerprints"]) == {"zoo:seed-0", *result.table["model"]}
    assert result.spec["rank"] == 3
    assert "9 fine-tunes of zoo:seed-0" in result.methods
    assert "(m - 1) / (n - 1)" in result.methods
    left_out = "zoo:nli-0-from-seed-1 (zoo:seed-1)"
    assert describe_strangers("zoo:seed-0", left_out) in result.notices


def test_a_second_run_computes_nothing_and_a_smaller_rank_needs_no_new_one(zoo: Path) -> None:
    first = measured(SPEC)
    again = measured(replace(SPEC, rank=8, vector="norms", threshold=0.95, map="tsne"))
    assert (first.stored, again.stored) == (0, 9)
    assert measured(replace(SPEC, rank=9)).stored == 0
    assert [kept_rank(rank) for rank in (1, 8, 9, 64)] == [8, 8, 16, 64]


def test_a_store_gives_the_same_numbers_as_a_computation(zoo: Path) -> None:
    cold, warm = STUDY.run(SPEC), STUDY.run(SPEC)
    for vector in VECTORS:
        np.testing.assert_array_equal(
            cold.arrays[f"distances {vector}"], warm.arrays[f"distances {vector}"]
        )


def test_a_model_that_fails_leaves_the_rest(zoo: Path, tmp_path: Path) -> None:
    write_model(tmp_path / "other-0", base_tensors(9))
    write_model(tmp_path / "same-0", base_tensors(0))
    result = STUDY.run(replace(SPEC, models=("zoo:*-*", f"path:{tmp_path}/*-0", "zoo:missing-0")))
    assert len(result.table) == 9
    assert len(result.failures) == 3
    reasons = " ".join(result.failures.values())
    assert "does not look like a fine-tune of zoo:seed-0" in reasons
    assert "has the same matrices as zoo:seed-0" in reasons
    assert "no model 'missing-0'" in reasons


def test_copies_are_no_further_models(zoo: Path, tmp_path: Path) -> None:
    for number in range(3):
        shutil.copytree(zoo / "models" / "nli-0", tmp_path / f"nli-{number}")
    result = STUDY.run(replace(SPEC, models=("zoo:pos-*", f"path:{tmp_path}/nli-*")))
    first, *copies = (f"path:{tmp_path}/nli-{number}" for number in range(3))
    assert [ref for ref in result.table["model"] if "nli" in ref] == [first]
    assert describe_copies(dict.fromkeys(copies, first))[0] in result.notices
    assert all(ref in describe_copies(dict.fromkeys(copies, first))[0] for ref in copies)
    assert not result.failures


def test_nothing_at_all_is_an_error_that_says_why(zoo: Path) -> None:
    with pytest.raises(TaskError, match=r"No model could be compared.*no model 'missing-0'"):
        STUDY.run(replace(SPEC, models=("zoo:missing-0",)))


def test_one_model_has_ranks_and_nothing_to_compare(zoo: Path) -> None:
    result = STUDY.run(replace(SPEC, models=("zoo:nli-0",)))
    assert result.tables["neighbours"].empty
    assert result.tables["distances"].empty
    assert len(result.tables["ranks"])
    assert (
        describe_unscored(["nli"]) not in result.notices
    )  # of one model there is nothing to score
    stated = [(each.subject, each.verdict) for each in result.statements]
    assert stated[:2] == [("delta", RANKED), ("delta", LOWER)]
    assert {verdict for _, verdict in stated[2:]} <= {*OF_TRENDS}, "no distance, no neighbour"
    assert all(each.named_in(result.headline) for each in result.statements)


def test_two_models_are_too_few_to_score(zoo: Path) -> None:
    result = STUDY.run(replace(SPEC, models=("zoo:nli-0", "zoo:pos-0")))
    assert describe_unscored(["nli", "pos"]) in result.notices


def test_weights_alone_of_one_model(zoo: Path) -> None:
    result = STUDY.run(replace(SPEC, models=("zoo:nli-0",), of="weights"))
    assert set(result.tables["matrices"]["of"]) == {"delta", "weights"}
    assert {each.subject for each in result.statements if each.estimate} == {"weights"}
    assert all(each.named_in(result.headline) for each in result.statements)


def test_a_shared_instance_has_its_limit(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    monkeypatch.setattr(planning, "MOST_SHARED", 5)
    with pytest.raises(SpecError, match=r"up to 5 fine-tunes .* not 9"):
        measured(SPEC)


def test_two_models_have_a_distance_and_no_score(zoo: Path) -> None:
    result = STUDY.run(replace(SPEC, models=("zoo:nli-0", "zoo:pos-0"), map="umap"))
    assert len(result.tables["distances"]) == 1
    assert result.tables["vectors"].empty


def label_table(rows: list[tuple[str, str]]) -> dict[str, bytes]:
    lines = [f"{model},{label}" for model, label in rows]
    return {"upload:mine.csv": "\n".join(["model,kind", *lines]).encode()}


def test_models_without_a_label_are_on_the_map_and_in_no_score(zoo: Path) -> None:
    table = label_table([(f"{task}-{run}", task) for task in ("nli", "pos") for run in range(3)])
    result = STUDY.run(replace(SPEC, label="table", labels="upload:mine.csv"), table)
    assert len(result.table) == 9
    assert len(result.tables["predictions"]) == 6
    assert said("unlabelled", count=3, models=9) in result.notices
    assert describe_table({str(n): "x" if n < 6 else "" for n in range(9)}, []) == [
        notice for notice in result.notices if "label table" in notice
    ]


def test_checkpoints_of_a_run_are_one_model_in_scores(zoo: Path, tmp_path: Path) -> None:
    """Three steps of each of two runs share their neighbours' label whatever the label is."""
    rows = []
    for name, task in (("a", "nli"), ("b", "pos")):
        for step in range(3):
            folder = tmp_path / name / f"checkpoint-{100 * (step + 1)}"
            shutil.copytree(zoo / "models" / f"{task}-{step}", folder)
            rows.append((f"path:{folder}", name))
    models = (f"path:{tmp_path}/a/*", f"path:{tmp_path}/b/*", "zoo:parse-0", "zoo:parse-1")
    rows += [("zoo:parse-0", "b"), ("zoo:parse-1", "a")]
    spec = replace(SPEC, models=models, label="table", labels="upload:mine.csv")
    result = STUDY.run(spec, label_table(rows))
    scored = result.tables["predictions"]["model"].tolist()
    assert [ref.rpartition("/")[2] for ref in scored if "path:" in ref] == ["checkpoint-300"] * 2
    (found,) = (notice for notice in result.notices if "Earlier checkpoints" in notice)
    assert found.count("checkpoint-") == 4


def test_a_label_table_says_what_it_labels_and_which_rows_name_no_model(zoo: Path) -> None:
    rows = [(f"{task}-{run}", task) for task in ("nli", "pos") for run in range(3)]
    rows += [(f"zoo:nil-{run}", "nli") for run in range(5)]
    spec = replace(SPEC, label="table", labels="upload:mine.csv")
    labelled = {f"zoo:{task}-{run}": "x" for task in ("nli", "pos") for run in range(3)}
    labels = labelled | {f"zoo:parse-{run}": "" for run in range(3)}
    told = describe_table(labels, [f"zoo:nil-{run}" for run in range(5)])
    assert "zoo:nil-0, zoo:nil-1, zoo:nil-2 and 2 more" in told[1]
    assert "parse-0" in told[1]
    assert set(told) <= set(STUDY.run(spec, label_table(rows)).notices)


def test_a_model_that_is_dropped_in_gets_the_vote_of_its_neighbours(
    zoo: Path, tmp_path: Path
) -> None:
    """Planted: runs of two known tasks under names that say nothing, and one of another task."""
    for name, task in (("mine", 1), ("run1", 2), ("stranger", 8)):
        write_model(tmp_path / name, tuned_tensors(base_tensors(), task, 5))
    result = STUDY.run(replace(SPEC, models=("zoo:*-*", f"path:{tmp_path}/*")))
    table = result.tables[UNLABELLED]
    votes = table.set_index(table["model"].str.rpartition("/")[2])
    assert votes["predicted"].to_dict().items() >= {("mine", "pos"), ("run1", "parse")}
    assert votes.loc["mine", ["votes", "judged", "right_votes"]].tolist() == [1, 9, 9]
    assert 0 <= votes.loc["mine", "shuffled"] < 0.5
    far = votes["distance"] > votes["farthest"]
    assert far.to_dict() == {"mine": False, "run1": False, "stranger": True}
    assert result.headline.startswith(unlabelled_sentence(result.statements))
    assert {"mine", "pos", "run1", "parse"} <= set(re.findall(r"\w+", result.headline))
    (map_view,) = (view for view in STUDY.views if view.key == MAP)
    assert UNLABELLED in map_view.rows(result)
    without = STUDY.run(SPEC)
    assert UNLABELLED not in without.tables
    assert result.headline.endswith(without.headline)
    pd.testing.assert_frame_equal(without.tables["predictions"], result.tables["predictions"])


def test_labels_that_nobody_shares_cannot_be_scored(zoo: Path) -> None:
    table = label_table(
        [(f"{task}-{run}", f"{task} {run}") for task in ("nli", "pos") for run in range(3)]
    )
    result = STUDY.run(replace(SPEC, labels="upload:mine.csv"), table)
    assert describe_unscored(["a", "b", "c"]) in result.notices


def test_another_base_takes_part_with_its_own(zoo: Path) -> None:
    result = STUDY.run(replace(SPEC, own_bases=True, label="base"))
    assert set(result.table["label"]) == {"zoo:seed-0", "zoo:seed-1"}
    assert result.table["relative_delta"].max() < 0.2
    assert result.statements[0].baseline == CHANCE
    assert re.search(r"\bbase\b", result.headline)


def test_models_of_other_shapes_are_left_out_with_a_notice(zoo: Path, tmp_path: Path) -> None:
    """Two bases of different widths, each model with its own: their deltas cannot lie in one
    space."""
    box = write_zoo(tmp_path / "zoo")
    narrow = {name: value[:16, :16].copy() for name, value in base_tensors(1).items()}
    write_model(box / "models" / "seed-1", narrow)
    write_model(box / "models" / "nli-0-from-seed-1", tuned_tensors(narrow, 0, 9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALIMPSEST_ZOO", str(box))
        result = STUDY.run(replace(SPEC, own_bases=True))
    assert len(result.table) == 9
    assert said("shapes", model="zoo:nli-0-from-seed-1", first="zoo:nli-0") in result.notices


def test_families_can_be_chosen(zoo: Path) -> None:
    result = STUDY.run(replace(SPEC, families=("query", "key")))
    assert set(result.tables["ranks"]["family"]) == {"query", "key"}


def test_rounding_of_half_precision_is_noticed(zoo: Path, tmp_path: Path) -> None:
    rounded = {name: value.astype(np.float16) for name, value in base_tensors(0).items()}
    write_model(tmp_path / "half-0", rounded)
    result = STUDY.run(replace(SPEC, models=("zoo:*-*", f"path:{tmp_path}/half-0")))
    assert any("rounding" in notice and "half-0" in notice for notice in result.notices)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"vector": "colour"}, "vector takes one of projector"),
        ({"rank": 0}, "rank takes a whole number from 1 to 64, not 0"),
        ({"rank": 8.5}, r"rank takes a whole number from 1 to 64, not 8\.5"),
        ({"rank": True}, "rank takes a whole number"),
        ({"base": "nonsense"}, "'nonsense' is not a model reference"),
        ({"base": 3}, "base takes a model, not 3"),
        ({"threshold": 1.0}, r"threshold takes a number from 0\.5 to 0\.9999, not 1\.0"),
        ({"threshold": float("nan")}, "threshold takes a number"),
        ({"label": "colour"}, "label takes one of task, data, base, table"),
        ({"label": "table"}, "label table"),
        ({"method": "colour"}, "method takes one of agglomerative, hdbscan"),
        ({"map": "colour"}, "map takes one of pca, tsne, umap"),
        ({"of": "colour"}, "of takes one of delta, weights, both"),
        ({"permutations": 3}, "permutations takes a whole number from 100"),
        ({"own_bases": "yes"}, "own_bases takes true or false"),
        ({"models": ()}, r"Choose at least 1 under Fine-tunes \(models\)"),
        ({"models": ("hub:someone/*",)}, "hub:someone"),
        ({"tree": 3}, "base is zoo:seed-0"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(changes: dict, reason: str) -> None:
    with pytest.raises(PalimpsestError, match=reason):
        WeightsSpec(**changes)


@pytest.mark.parametrize(
    ("ref", "column", "reason"),
    [
        ("upload:gone.csv", "", r"gone\.csv is not on this server"),
        ("/nowhere/labels.csv", "", "cannot be read"),
        ("upload:mine.csv", "colour", "no column 'colour'; choose from kind"),
    ],
)
def test_a_label_table_that_cannot_be_used_stops_the_study(
    zoo: Path, ref: str, column: str, reason: str
) -> None:
    with pytest.raises(SpecError, match=reason):
        STUDY.run(replace(SPEC, labels=ref, column=column), label_table([("nli-0", "a")]))


def test_a_shared_instance_reads_no_file_of_its_own(
    zoo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    with pytest.raises(SpecError, match="shared instance"):
        STUDY.run(replace(SPEC, labels="/etc/passwd"))


def test_finding_the_models_can_be_cancelled(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first stage hashes folders and asks the hub: a cancelled study stops between two
    models."""
    signal, asked = Signal(), []

    def identify(ref: str, run: bool) -> Identity:
        asked.append(ref)
        signal.set()
        return Identity(ref, "a content", "weights")

    monkeypatch.setattr(selection, "identify", identify)
    with pytest.raises(CancelledError):
        STUDY.run(SPEC, signal=signal)
    assert len(asked) == 1


def test_one_store_takes_everything(zoo: Path, tmp_path: Path) -> None:
    mine = Store(tmp_path / "mine")
    STUDY.run(replace(SPEC, map="tsne"), store=mine)
    assert measured(SPEC).stored == 0
    assert run(plan(SPEC, run(prepare(SPEC))), store=mine).stored == 9


def test_two_fine_tunes_of_one_base_compare_in_one_sentence(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted cosine, planted sizes by layer, and directions that are random or the same."""
    base = base_tensors()
    rng = np.random.default_rng(5)
    write_model(tmp_path / "base", base)
    steps = {
        name: rng.normal(size=(2, *value.shape)) for name, value in base.items() if "layer" in name
    }
    for folder, mixed in (("a", 0.0), ("b", 0.6)):
        tuned = dict(base)
        for name, (one, two) in steps.items():
            size = 0.03 if f"layer.{2 if folder == 'a' else 0}." in name else 0.01
            change = (1 - mixed**2) ** 0.5 * two + mixed * one if mixed else one
            tuned[name] = (base[name] + size * change).astype(np.float32)
        write_model(tmp_path / folder / "checkpoint-300", tuned)
    refs = tuple(f"path:{tmp_path / folder / 'checkpoint-300'}" for folder in "ab")
    with using(Store(tmp_path / "store")):
        result = STUDY.run(replace(SPEC, base=f"path:{tmp_path / 'base'}", models=refs))
    cosine, apart, chance, *sizes = [s for s in result.statements if s.verdict in OF_A_PAIR]
    flat = [
        np.concatenate(
            [
                (0.03 if f"layer.{layer}." in name else 0.01)
                * (
                    steps[name][0] if layer == 2 else 0.8 * steps[name][1] + 0.6 * steps[name][0]
                ).ravel()
                for name in steps
            ]
        )
        for layer in (2, 0)
    ]
    planted = float(flat[0] @ flat[1] / np.linalg.norm(flat[0]) / np.linalg.norm(flat[1]))
    assert cosine.number.value == pytest.approx(planted, abs=0.01)
    assert apart.number.value < chance.number.value < 1
    assert [size.layers for size in sizes] == [(), (3,), (), (1,)]
    assert [size.number.value for size in sizes[::2]] == pytest.approx(
        [*result.table["relative_delta"]]
    )
    assert all(each.named_in(result.headline) for each in (cosine, apart, chance, *sizes))
    assert "a/checkpoint-300 and b/checkpoint-300" in result.headline


def test_projectors_of_random_updates_are_as_far_apart_as_chance_says() -> None:
    rng = np.random.default_rng(0)
    shape, rank = (40, 24), 4

    def drawn() -> Features:
        left, values, right = np.linalg.svd(rng.normal(size=shape), full_matrices=False)
        norm = np.ones(1)
        sides = (left[:, :rank],), (right[:rank].T,)
        return Features(
            ("Wq",), (0,), (shape,), values[None], norm, norm, *sides, (np.ones(shape[0]),)
        )

    models = [drawn() for _ in range(40)]
    distances = calc_distances(models, "projector", rank)
    squares = distances[np.triu_indices(len(models), 1)] ** 2
    assert null_projector_distance([shape], rank) ** 2 == pytest.approx(squares.mean(), abs=0.005)
