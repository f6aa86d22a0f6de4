"""The lineage from beginning to end: included models, planted copies and strangers, refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

from core.errors import ModelError, SpecError
from core.limits import MODE
from core.maths.spectra import forests
from core.models.identity import IDENTICAL, Identity, identify
from core.models.zoo import zoo_folder
from core.results.columns import meaning
from core.results.export import Result
from core.results.numbers import text_of
from core.studies.weights.lineage import independence, tables
from core.studies.weights.lineage.charts import AGREES, APART, DIFFERS, figures, tree_rows
from core.studies.weights.lineage.independence import MOST_UNITS
from core.studies.weights.lineage.spec import LineageSpec
from core.studies.weights.lineage.study import STUDY
from core.studies.weights.lineage.tables import recorded_parents
from core.studies.weights.lineage.tasks import calc_kurtosis
from core.studies.weights.lineage.text import describe_tests, start_sentences, start_statements
from tests.core.tiny_models import save_tiny

MODELS = zoo_folder() / "models"
FEW = ("zoo:seed-0", "zoo:nli-0", "zoo:pos-0", "zoo:seed-1", "zoo:sentiment-0-from-seed-1")


def run(*models: str, **options: object) -> Result:
    result: Result = STUDY.run(LineageSpec(models=models, **options))  # type: ignore[arg-type]
    return result


def verdicts(result: Result) -> dict[str, str]:
    return dict(zip(result.table["model"], result.table["verdict"], strict=True))


def copy_of(name: str, folder: Path) -> str:
    shutil.copytree(MODELS / name, folder)
    return f"path:{folder}"


def changed(folder: Path, part: str, shift: float) -> None:
    """Add noise of this standard deviation to all tensors whose name has this part in it."""
    weights = load_file(folder / "model.safetensors")
    rng = np.random.default_rng(0)
    for name, tensor in sorted(weights.items()):
        if part in name:
            weights[name] = (tensor + shift * rng.standard_normal(tensor.shape)).astype(
                tensor.dtype
            )
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def reorder_units(folder: Path) -> None:
    """Put the units of every feed-forward layer into a random order, which changes no output."""
    weights = load_file(folder / "model.safetensors")
    rng = np.random.default_rng(0)
    for name in sorted(name for name in weights if name.endswith("intermediate.dense.weight")):
        order = rng.permutation(len(weights[name]))
        for part in (name, name.replace("weight", "bias")):
            weights[part] = weights[part][order]
        second = name.replace("intermediate", "output")
        weights[second] = np.ascontiguousarray(weights[second][:, order])
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def test_parents_of_included_models_are_found_in_two_trees() -> None:
    result = run(*FEW)
    rows = result.table.set_index("model")
    assert rows["parent"].to_dict() == {
        "zoo:seed-0": "",
        "zoo:nli-0": "zoo:seed-0",
        "zoo:pos-0": "zoo:seed-0",
        "zoo:seed-1": "",
        "zoo:sentiment-0-from-seed-1": "zoo:seed-1",
    }
    assert rows.loc["zoo:nli-0", "relative_delta"] == pytest.approx(0.088, abs=0.001)
    rules = result.tables["rules"].set_index("rule")
    assert rules.loc[tables.BY_NORM, "right"] == 3
    # three roots of the first tree find 2, 1 and 1 parents; two of the second find 1 and 0
    assert rules.loc[tables.RANDOM, "right"] == pytest.approx(4 / 3 + 1 / 2)
    assert rules.loc[tables.BY_NORM, "p_value"] == pytest.approx(1 / 6)
    pairs = result.tables["relatives"].set_index(["model", "other"])
    related = pairs.loc[("zoo:seed-0", "zoo:nli-0")]
    assert related["cosine"] > 0.99
    assert related["permuted_cosine"] < 0.1
    assert all(said.named_in(result.headline) for said in result.statements)
    nearest = text_of(rules.loc[tables.NEAREST, "share"], "per cent")  # as of the other rules
    assert f"the nearest model to {nearest}." in result.headline
    for name, table in result.tables.items():
        assert all(meaning(name, column) for column in table.columns)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_the_norm_grows_along_all_included_lineages_and_kurtosis_does_not() -> None:
    result = STUDY.run(LineageSpec())
    growth = result.tables["growth"].set_index(["kind", "property"])["rising"]
    assert growth["fine-tune", "norm"] == 28
    assert growth["fine-tune", "kurtosis"] == 0
    assert growth["checkpoint", "norm"] == growth["checkpoint", "kurtosis"] == 5
    rules = result.tables["rules"].set_index(["kind", "rule"])
    assert rules.loc[("fine-tune", tables.BY_NORM), "right"] == 24
    assert rules.loc[("fine-tune", tables.RANDOM), "share"] == pytest.approx(0.757, abs=0.001)
    assert rules.loc[("checkpoint", tables.BY_KURTOSIS), "right"] == 0
    assert rules.loc[("fine-tune", tables.PERMUTED), "right"] == 0
    missed = result.table[result.table["agrees"].eq(False)]
    assert set(missed["parent"]) == {"zoo:parse-slow", "zoo:sentiment-frozen-4"}
    assert "24 of 28" in result.headline


def test_copies_strangers_and_other_architectures_are_said_and_not_joined(tmp_path: Path) -> None:
    copy = copy_of("nli-0", tmp_path / "copy")
    head = copy_of("seed-0", tmp_path / "head")
    changed(tmp_path / "head", "embeddings", 0.1)
    wide = copy_of("seed-0", tmp_path / "wide")
    weights = load_file(tmp_path / "wide" / "model.safetensors")
    grown = {
        name: np.pad(tensor, ((0, 0), (0, 8))) if "intermediate.dense.weight" in name else tensor
        for name, tensor in weights.items()
    }
    save_file(grown, tmp_path / "wide" / "model.safetensors", metadata={"format": "pt"})
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "config.json").write_text(json.dumps({"model_type": "bert"}))
    result = run(
        "zoo:seed-0", "zoo:nli-0", copy, head, wide, "zoo:seed-1", "zoo:seed-2", f"path:{empty}"
    )
    assert verdicts(result) == {
        "zoo:seed-0": "root",
        "zoo:nli-0": "descends",
        copy: "identical",
        head: "unchanged",
        wide: "left out",
        "zoo:seed-1": "unrelated",
        "zoo:seed-2": "unrelated",
        f"path:{empty}": "left out",
    }
    parents = result.table.set_index("model")["parent"]
    assert parents[copy] == "zoo:nli-0"
    assert parents[head] == "zoo:seed-0"
    assert {wide, f"path:{empty}"} <= set(result.failures)
    assert "copy has the same weights as nli-0" in result.headline
    assert "head has the same matrices as seed-0" in result.headline
    assert "seed-1 and seed-2 have no relative" in result.headline
    assert set(tree_rows(result.table)["model"]) == {
        *("zoo:seed-0", "zoo:nli-0", "zoo:seed-1", "zoo:seed-2")
    }


def test_a_copy_is_that_of_the_model_with_all_its_weights() -> None:
    """All have the same matrices, the second and the fourth one's other weights, too."""
    refs = ["path:a", "path:b", "path:c", "path:d"]
    identities = {
        ref: Identity(ref, ref, weights) for ref, weights in zip(refs, "1232", strict=True)
    }
    value = {"models": refs, "places": [["query", 0]], "equal": np.ones((4, 4))}
    assert tables.copies_in(value, identities) == {
        "path:b": (tables.UNCHANGED, "path:a"),
        "path:c": (tables.UNCHANGED, "path:a"),
        "path:d": (IDENTICAL, "path:b"),
    }


def test_weights_that_are_no_numbers_are_left_out_with_the_reason(tmp_path: Path) -> None:
    broken = copy_of("nli-0", tmp_path / "broken")
    changed(tmp_path / "broken", "layer.3", np.nan)
    result = run("zoo:seed-0", broken, "zoo:pos-0")
    assert verdicts(result)[broken] == "left out"
    assert "not finite" in result.failures[broken]
    rest = run("zoo:seed-0", "zoo:pos-0")
    assert result.tables["relatives"].equals(rest.tables["relatives"])


def test_models_without_a_parent_on_record_are_joined_and_not_scored(tmp_path: Path) -> None:
    first = copy_of("seed-0", tmp_path / "first")
    second = copy_of("seed-0", tmp_path / "second")
    changed(tmp_path / "second", "dense.weight", 0.02)
    result = run(first, second)
    assert result.table["parent"].tolist() == ["", first]
    assert result.tables["rules"].empty
    assert result.headline == (
        "2 models form one tree, which begins at first. first and second (p < .001) were not "
        "trained independently, by the order of their units."
    )


def test_parents_on_record_are_bases_and_earlier_checkpoints() -> None:
    refs = (
        *("hub:lab/run", "hub:lab/run@step200", "hub:lab/run@step50"),
        *("zoo:seed-0", "zoo:nli-0", "zoo:sentiment-0-from-seed-1", "zoo:parse-0-lora-8"),
    )
    parents, kinds = recorded_parents(refs)
    assert parents == [1, 2, -1, -1, 3, -1, 3]
    assert kinds == ["checkpoint", "checkpoint", "", "", "fine-tune", "", "fine-tune"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_a_final_model_comes_after_a_checkpoint_of_as_many_steps_however_they_are_named(
    order: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {"hub:a/b@step1000": 1000, "hub:a/b@step2000": 2000, "hub:a/b": 2000}
    monkeypatch.setattr("core.models.steps.progress_of", lambda ref: (steps[ref], None, None))
    run = list(steps)
    parents, _ = recorded_parents([run[number] for number in order])
    assert [parents[order.index(number)] for number in range(3)] == [
        forests.NONE,
        order.index(0),
        order.index(1),
    ]


def test_the_drawing_puts_every_model_below_its_parent() -> None:
    result = run("zoo:seed-0", "zoo:parse-0", "zoo:parse-slow", "zoo:nli-0")
    rows = tree_rows(result.table)
    order = list(rows["model"])
    assert order == ["zoo:seed-0", "zoo:nli-0", "zoo:parse-slow", "zoo:parse-0"]
    assert rows.set_index("model")["group"]["zoo:parse-0"] == DIFFERS
    assert rows.set_index("model")["group"]["zoo:nli-0"] == AGREES
    chart = figures(result)["lineage"]
    chart.to_altair()
    assert "From parse-slow: parse-0." in chart.to_dict()["description"]


def test_leaves_that_differ_in_a_number_share_a_row() -> None:
    numbered = ("zoo:nli-0", "zoo:nli-1", "zoo:nli-2", "zoo:sentiment-0")
    rows = tree_rows(run("zoo:seed-0", *numbered).table).set_index("model")
    assert rows.loc["zoo:nli-1", "row"] == "nli-0, -1, -2"
    assert rows.loc[list(numbered), "row"].nunique() == 2
    assert rows.loc["zoo:seed-0", "row"] == "seed-0"
    steps = rows.loc[list(numbered[:3]), "step"]
    assert np.diff(steps.to_numpy(float)) == pytest.approx([APART, APART])
    assert rows.loc["zoo:nli-0", "step"] == rows.loc["zoo:sentiment-0", "step"] == 1
    chart = figures(run("zoo:seed-0", *numbered))["lineage"].to_dict()
    assert len(chart["layer"][1]["encoding"]["y"]["sort"]) == 3


def test_changes_of_a_pair_are_compared_by_matrix() -> None:
    models = ("zoo:seed-0", "zoo:parse-0", "zoo:parse-frozen-2", "zoo:nli-0")
    result = run(*models, pair=("zoo:parse-frozen-2", "zoo:parse-0"))
    siblings = result.tables["siblings"].set_index(["model", "other"])
    assert len(siblings) == 3
    assert set(siblings["base"]) == {"zoo:seed-0"}
    assert siblings.loc[("zoo:parse-0", "zoo:parse-frozen-2"), "cosine"] == pytest.approx(
        0.505, abs=0.001
    )
    assert siblings["permuted_cosine"].abs().max() < 0.05
    changes = result.tables["changes"]
    frozen = changes["layer"] <= 2
    assert changes.loc[frozen, "cosine"].isna().all()
    assert changes.loc[~frozen, "cosine"].min() > 0.4
    assert set(figures(result)) == {"lineage", "changes"}
    drawn = figures(result)["changes"].to_altair().to_dict()
    rows = next(iter(drawn["datasets"].values()))
    assert {row["layer"] for row in rows} == {3, 4, 5, 6}
    assert any(".51" in notice for notice in result.notices)
    assert run(*models).tables["changes"]["other"].iloc[0] == "zoo:parse-frozen-2", "most alike"


def test_a_change_is_that_of_the_weights_study(tmp_path: Path) -> None:
    """The cosine of two whole changes, computed matrix by matrix from the files."""
    base, first, second = (
        load_file(MODELS / name / "model.safetensors") for name in ("seed-0", "nli-0", "pos-0")
    )
    names = [
        name
        for name in base
        if ".layer." in name and name.endswith("weight") and "LayerNorm" not in name
    ]
    changes = [
        np.concatenate([(model[name] - base[name]).ravel() for name in names]).astype(float)
        for model in (first, second)
    ]
    cosine = changes[0] @ changes[1] / np.prod([np.linalg.norm(change) for change in changes])
    siblings = run("zoo:seed-0", "zoo:nli-0", "zoo:pos-0").tables["siblings"]
    assert siblings["cosine"].iloc[0] == pytest.approx(cosine, abs=1e-5)


def test_a_pair_without_a_common_base_is_refused() -> None:
    with pytest.raises(SpecError, match="have no common base among the models"):
        run(*FEW, pair=("zoo:nli-0", "zoo:sentiment-0-from-seed-1"))
    with pytest.raises(SpecError, match="two different models"):
        LineageSpec(pair=("zoo:nli-0",))
    nothing = run("zoo:seed-0", "zoo:seed-1")
    assert nothing.tables["changes"].empty
    assert nothing.notices == ()
    assert set(figures(nothing)) == {"lineage"}


def test_families_restrict_what_is_compared() -> None:
    whole, part = (run("zoo:seed-0", "zoo:nli-0", families=f).table for f in ((), ("query",)))
    assert part["norm"].iloc[0] < whole["norm"].iloc[0]
    with pytest.raises(ModelError, match="none of the families router; choose from query"):
        run("zoo:seed-0", "zoo:nli-0", families=("router",))


def test_a_lineage_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match="at least two models"):
        run("zoo:seed-0")
    folder = tmp_path / "other"
    copy_of("seed-0", folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="Fewer than two models"):
        run("zoo:seed-0", f"path:{folder}")
    copy_of("seed-0", tmp_path / "broken")
    changed(tmp_path / "broken", "query", np.nan)
    with pytest.raises(ModelError, match="are not finite"):
        run("zoo:seed-0", f"path:{tmp_path / 'broken'}")
    monkeypatch.setenv(MODE, "shared")
    monkeypatch.setattr("core.studies.weights.lineage.study.MOST_SHARED", 3)
    with pytest.raises(SpecError, match="up to 3 models at once, not 5"):
        run(*FEW)


def test_kurtosis_is_that_of_the_entries() -> None:
    normal = np.random.default_rng(0).standard_normal((300, 300))
    assert calc_kurtosis(normal) == pytest.approx(3.0, abs=0.05)
    assert calc_kurtosis(np.ones((2, 2))) == 0.0


def test_a_root_on_which_norm_and_kurtosis_disagree_is_undecided(tmp_path: Path) -> None:
    """A base made smaller after fine-tuning, as by weight decay: norms begin at the fine-tune."""
    base, tuned = copy_of("seed-0", tmp_path / "base"), copy_of("nli-0", tmp_path / "tuned")
    path = tmp_path / "tuned" / "model.safetensors"
    weights = load_file(path)
    save_file({name: 0.99 * tensor for name, tensor in weights.items()}, path, {"format": "pt"})
    result = run(base, tuned)
    assert result.table["root"].tolist() == [tuned, tuned]
    assert result.table["kurtosis_root"].tolist() == [base, base]
    assert "begins at tuned by the smallest norm and at base by the highest" in result.headline
    assert "its root is undecided" in result.headline
    assert "undecided" not in run("zoo:seed-0", "zoo:nli-0").headline


def test_a_fine_tune_whose_units_were_permuted_is_found(tmp_path: Path) -> None:
    moved = copy_of("parse-0", tmp_path / "moved")
    reorder_units(tmp_path / "moved")
    result = run("zoo:seed-0", "zoo:nli-0", moved)
    tests = result.tables["independence"].set_index(["model", "other"])
    kept, found = tests.loc[("zoo:seed-0", "zoo:nli-0")], tests.loc[("zoo:seed-0", moved)]
    assert (kept["outcome"], kept["one_tree"]) == (tables.IN_ORDER, True)
    assert (found["outcome"], found["one_tree"]) == (tables.REORDERED, False)
    assert max(kept["order_p"], kept["matched_p"], found["corrected_p"]) < 1e-100
    assert found["order_p"] > 0.001
    assert found["agreeing"] > 0.99
    assert found["matched_units"] == 6 * MOST_UNITS
    assert result.table.set_index("model").loc[moved, "start_p"] < 1e-100
    stated = [each for each in result.statements if each.verdict == tables.REORDERED]
    assert [(each.subject, each.baseline) for each in stated] == [("zoo:seed-0", moved)]
    assert "another order" in result.headline
    for name, table in result.tables.items():
        assert all(meaning(name, column) for column in table.columns)


@pytest.mark.parametrize(
    ("order_p", "matched_p", "outcome"),
    [
        (0.02, 0.5, tables.INDEPENDENT),
        (0.01, 0.5, tables.IN_ORDER),
        (0.5, 0.01, tables.REORDERED),
        (0.5, 0.02, tables.INDEPENDENT),
    ],
)
def test_both_tests_of_all_pairs_are_corrected_for(
    order_p: float, matched_p: float, outcome: str
) -> None:
    """Of two pairs: .02 would be significant if only the pairs were counted."""
    layers = np.zeros((2, 1))
    value = {
        "models": ["zoo:a", "zoo:b", "zoo:c"], "pairs": [(0, 1), (0, 2)], "related": [False] * 2,
        "order": layers, "matched": layers, "agreeing": layers, "units": np.array([8]),
        "order_log_p": np.log([order_p, 0.5]), "matched_log_p": np.log([matched_p, 0.5]),
    }  # fmt: skip
    tests = tables.build_independence(value)
    assert tests["outcome"].tolist() == [outcome, tables.INDEPENDENT]
    assert tests["corrected_p"].tolist() == pytest.approx([4 * min(order_p, matched_p), 1.0])
    (fact,) = start_statements(tests)
    assert fact.number.value == pytest.approx(tests["corrected_p"].min())
    said = start_sentences((fact,), tests)
    assert fact.number.value_text in said
    assert ("corrected for 4 tests" in said) == (outcome == tables.INDEPENDENT)


def test_all_pairs_with_a_common_start_are_stated_and_the_first_are_named() -> None:
    p_values = [0.005, 0.001, 0.004, 0.002, 0.003]
    tests = pd.DataFrame(
        {
            "model": "zoo:a", "other": [f"zoo:b-{n}" for n in range(5)], "corrected_p": p_values,
            "outcome": tables.IN_ORDER, "one_tree": False,
        }
    )  # fmt: skip
    stated = start_statements(tests)
    assert [each.number.value for each in stated] == sorted(p_values)
    said = start_sentences(stated, tests)
    assert said.count("p = ") == 3
    assert "and 2 more pairs were not trained independently" in said


def test_two_seeds_are_not_detectably_related() -> None:
    result = run("zoo:seed-0", "zoo:seed-1")
    (row,) = result.tables["independence"].to_dict("records")
    assert (row["outcome"], row["one_tree"]) == (tables.INDEPENDENT, False)
    assert abs(row["order_correlation"]) < 0.1
    (said,) = [each for each in result.statements if each.verdict == tables.INDEPENDENT]
    assert said.named_in(result.headline)


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_gates_and_stacks_of_tiny_models_are_matched(kind: str, tmp_path: Path) -> None:
    refs = [f"path:{save_tiny(tmp_path / str(n), kind, seed=n)}" for n in range(2)]
    copy = f"path:{shutil.copytree(tmp_path / '0', tmp_path / 'copy')}"
    tests = run(*refs, copy).tables["independence"].set_index(["model", "other"])
    assert tests.loc[(refs[0], copy), "outcome"] == tables.IN_ORDER
    assert tests.loc[(refs[0], refs[1]), "outcome"] == tables.INDEPENDENT


def test_a_matrix_that_cannot_be_read_leaves_its_model_out_of_the_tests(tmp_path: Path) -> None:
    broken = copy_of("nli-0", tmp_path / "broken")
    changed(tmp_path / "broken", "layer.5.output.dense.weight", np.nan)
    tests = run("zoo:seed-0", "zoo:seed-1", broken).tables["independence"]
    assert broken not in {*tests["model"], *tests["other"]}
    assert len(tests) == 1


def test_of_many_trees_some_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(independence, "MOST_TREES", 2)
    value = independence.compare_orders(FEW, tuple(identify(ref, run=False).content for ref in FEW))
    assert value["trees"] == 2
    assert describe_tests(value) == ""
    assert "the first 12 were compared" in describe_tests(value | {"trees": 14})
