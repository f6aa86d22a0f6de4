"""The edge-probing study end to end on tiny models and made-up trees, against slow loops; items,
rivals, control."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.commands import main as cli
from core.errors import CorpusError
from core.maths.classifier.fitting import standardised
from core.maths.codelength import block_ends
from core.results.estimates import estimate_of
from core.results.export import Result
from core.runs.runner import Outputs, run
from core.studies.probes.edges import tables as edge_tables
from core.studies.probes.edges.coding import PENALTIES, place_features
from core.studies.probes.edges.items import BUCKETS, Items, control_labels, edge_items
from core.studies.probes.edges.planning import RIVALS, plan
from core.studies.probes.edges.spec import EdgeSpec as Spec
from core.studies.probes.edges.study import STUDY
from core.studies.probes.edges.tables import ACCURACY, BITS, REAL, SELECTIVITY, UNSEEN
from core.studies.probes.edges.tasks import LOOKUP, MAJORITY, PLACES, score_rivals
from core.studies.probes.edges.text import BASELINE, best_rows, make_methods, statements_of
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.planning import TREEBANK, prepare_same
from core.studies.probes.trees.statements import BEST, verdict_of
from core.studies.probes.trees.tables import EMBEDDINGS, TAGS, WINDOW, windows_of
from core.studies.probes.trees.tasks import read_vectors
from tests.core.studies.probes.planted import random_heads
from tests.core.tiny_models import LAYERS, TEXT, save_tiny

WORDS = sorted(set(TEXT.split()))
UPOS = ("NOUN", "VERB", "ADJ", "DET")
DEPS = ("nsubj:pass", "obj", "det")


def write_tagged(path: Path, count: int = 140, seed: int = 0) -> Path:
    """Made-up sentences in which a word's tag is mostly its own, and a label that of the pair of
    words."""
    rng = np.random.default_rng(seed)
    lines: list[str] = []
    for _ in range(count):
        heads = random_heads(rng, 5, 9)
        ids = rng.integers(0, len(WORDS), len(heads))
        for place, (number, head) in enumerate(zip(ids, heads, strict=True), start=1):
            tag = UPOS[number % 4] if rng.random() < 0.9 else "NOUN"
            label = "root" if head == 0 else DEPS[(number + ids[head - 1]) % 3]
            lines.append(
                "\t".join(
                    [str(place), WORDS[number], "_", tag, "_", "_", str(head), label, "_", "_"]
                )
            )
        lines += [
            "\t".join([str(len(heads) + 1), ".", "_", "PUNCT", ".", "_", "1", "punct", "_", "_"]),
            "",
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf8")
    return path


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("edge-study")
    return {
        "bert": f"path:{save_tiny(folder / 'bert', 'bert')}",
        "gpt2": f"path:{save_tiny(folder / 'gpt2', 'gpt2')}",
        "trees": str(write_tagged(folder / "trees.conllu")),
        "store": str(folder / "store"),
    }


@pytest.fixture
def spec(box: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Spec:
    monkeypatch.setenv("PALIMPSEST_STORE", box["store"])
    return Spec(
        models=(box["bert"], box["gpt2"]), corpus=box["trees"], draws=50, controls=2, penalty=3.0
    )


@pytest.fixture
def result(spec: Spec) -> Result:
    """The study, computed by the first test that asks and read from its store by the others."""
    return STUDY.run(spec)


@pytest.fixture
def outputs(spec: Spec) -> Outputs:
    return run(plan(spec, run(prepare_same(spec))))


def rows_of(result: Result, **wanted: object) -> pd.DataFrame:
    table = result.table
    for name, value in wanted.items():
        table = table[table[name] == value]
    return table


def test_the_table_has_every_row_that_makes_a_score_mean_something(
    box: dict[str, str], result: Result
) -> None:
    assert tuple(result.table.columns) == edge_tables.SCORES
    assert not result.failures
    untrained = f"random:{box['bert']}"
    assert set(result.table["model"]) == {
        box["bert"],
        box["gpt2"],
        untrained,
        MAJORITY,
        LOOKUP,
        PLACES,
        *windows_of((box["bert"], box["gpt2"])).values(),
        *TAGS.values(),
    }
    for target in ("pos", "label", "distance"):
        for labels in ("real", "control", "selectivity"):
            rows = rows_of(result, model=box["gpt2"], probe=target, metric=ACCURACY, labels=labels)
            assert rows["layer"].tolist() == list(range(LAYERS + 1))
        assert (
            len(rows_of(result, model=untrained, probe=target, metric=BITS)) == LAYERS + 1
        )  # no control of its own
        assert rows_of(result, model=PLACES, probe=target, metric=BITS)["layer"].isna().all()
    known = result.table.dropna(subset=["value"])
    assert (
        (known["low"] <= known["value"] + 1e-9) & (known["value"] <= known["high"] + 1e-9)
    ).mean() > 0.95


def test_the_headline_states_the_best_layers_their_baselines_and_the_other_models(
    box: dict[str, str], spec: Spec, result: Result
) -> None:
    stated = {(each.metric, each.subject, each.verdict): each for each in result.statements}
    headline = statements_of(result.tables, spec.probed)
    assert result.statements[: len(headline)] == headline
    scores = [each for each in headline if each.verdict in (BEST, BASELINE)]
    assert all(each.named_in(result.headline) for each in scores)
    for target in ("pos", "label", "distance"):
        best = best_rows(result.table, box["bert"])[target]
        found = stated[target, box["bert"], BEST]
        assert found.layers == (best["layer"],)
        assert found.estimate == estimate_of(best, "value")
        margins = result.tables["edge_margins"].query("probe == @target and metric == 'accuracy'")
        margins = margins[(margins["model"] == box["bert"]) & (margins["layer"] == best["layer"])]
        margins = margins[~margins["rival"].isin(TAGS.values())]
        strongest = margins.loc[margins["rival_value"].idxmax()]
        baseline = stated[target, strongest["rival"], BASELINE]
        assert baseline.estimate == estimate_of(strongest, "rival_value")
        of_target = [each for each in headline if each.metric == target]
        margin = next(e for e in of_target if e.subject == found.subject and e.baseline)
        assert margin.baseline == strongest["rival"]
        assert margin.estimate == estimate_of(strongest, "margin")
        assert margin.verdict == verdict_of(estimate_of(strongest, "margin"))
        other = next(each for each in of_target if each.subject == box["gpt2"])
        assert other.baseline == box["bert"]
        assert other.layers == (best_rows(result.table, box["gpt2"])[target]["layer"],)
        assert other.named_in(result.headline)


def test_methods_say_whether_trees_are_a_parsers(spec: Spec) -> None:
    treebank: Treebank = run(prepare_same(spec)).values[TREEBANK]
    assert not treebank.parsed
    given, parsed = (
        make_methods(spec, replace(treebank, parsed=which), {}) for which in (False, True)
    )
    assert given != parsed
    assert spec.pipeline in parsed
    assert spec.pipeline not in given


def test_what_was_planted_is_found(box: dict[str, str], result: Result) -> None:
    """Tags belong to words: any layer and the word lookup predict them, positions do not."""
    tags = rows_of(result, probe="pos", metric=ACCURACY, labels=REAL).set_index("model")["value"]
    assert float(tags.loc[LOOKUP]) > 80
    assert tags.loc[box["bert"]].max() > 80
    assert float(tags.loc[MAJORITY]) < 50
    assert float(tags.loc[PLACES]) < 50
    # A label depends on the pair of words, which the lookup has and positions do not.
    labels = rows_of(result, probe="label", metric=ACCURACY, labels=REAL).set_index("model")[
        "value"
    ]
    assert float(labels.loc[LOOKUP]) > float(labels.loc[PLACES]) + 20
    codes = (
        result.tables["codes"]
        .query("probe == 'pos' and labels == 'real'")
        .set_index("model")["compression"]
    )
    assert float(codes.loc[LOOKUP]) > 1.5
    assert float(codes.loc[PLACES]) < 1.2


def test_the_position_only_baseline_has_the_penalty_that_is_best_on_development_sentences(
    spec: Spec,
) -> None:
    planned = {task.role: task for task in plan(spec, run(prepare_same(spec)))}
    given = dict(planned[RIVALS, "distance"].arguments)
    value = score_rivals(**given | {"penalty": 0.0})
    assert np.isnan(value["penalties"][:2]).all()
    assert value["penalties"][2] in PENALTIES
    fixed = [score_rivals(**given | {"penalty": tried}) for tried in PENALTIES[::3]]
    assert value["dev"][2, 0] >= max(each["dev"][2, 0] for each in fixed) - 0.02
    assert [each["penalties"][2] for each in fixed] == [*PENALTIES[::3]]


def test_one_task_equals_a_slow_loop_over_scikit_learn(spec: Spec, outputs: Outputs) -> None:
    """Hits, development shares and code lengths, each layer and label set fitted alone."""
    from sklearn.linear_model import LogisticRegression

    model, target = spec.models[0], "label"
    task = next(
        task for task in plan(spec, run(prepare_same(spec))) if task.role == (model, target)
    )
    given, value = dict(task.arguments), outputs.values[model, target]
    items = edge_items(target, given["trees"].heads, given["trees"].keep, given["tags"])
    vectors = read_vectors(model, given["trees"].words, range(LAYERS + 1))[0]
    starts = np.cumsum([0, *map(len, given["trees"].words)])
    pairs = np.concatenate(
        [
            vectors[starts[items.sentence] + items.head],
            vectors[starts[items.sentence] + items.word],
        ],
        axis=2,
    )
    train, dev = np.cumsum(given["sizes"])[:2]
    fitted = int((items.sentence < train).sum())
    features = standardised(pairs, fitted).numpy()
    truth = np.array(items.labels)
    ends = [int((items.sentence < end).sum()) for end in block_ends(int(train))]
    for layer in range(LAYERS + 1):
        slow = _scikit(LogisticRegression, features[layer, :fitted], truth[:fitted], spec.penalty)
        right = slow.predict(features[layer]) == truth
        test = [
            int(right[items.sentence == sentence].sum())
            for sentence in range(dev, len(given["trees"].words))
        ]
        assert (
            np.abs(value["correct"][layer, 0] - test).sum() <= 1
        )  # a tie may fall either way in half precision
        middle = (items.sentence >= train) & (items.sentence < dev)
        assert (
            abs(value["dev"][layer, 0] * middle.sum() - right[middle].sum()) < 1.5
        )  # one tie here too
        bits = ends[0] * math.log2(len(set(truth[:fitted])))
        for start, end in itertools.pairwise(ends):
            slow = _scikit(LogisticRegression, features[layer, :start], truth[:start], spec.penalty)
            chances = slow.predict_log_proba(features[layer, start:end])
            places = {name: number for number, name in enumerate(slow.classes_)}
            bits -= sum(
                chances[row, places[name]] for row, name in enumerate(truth[start:end])
            ) / math.log(2)
        # Vectors are computed anew here, in batches of their own, and rounded to half precision.
        assert value["bits"][layer, 0].sum() == pytest.approx(bits, rel=3e-4)
    assert value["items"].sum() == (items.sentence >= dev).sum()
    assert value["bits"].shape[1] == 1 + spec.controls


def _scikit(kind: type, features: np.ndarray, labels: np.ndarray, penalty: float):  # type: ignore[no-untyped-def]
    return kind(C=1 / penalty, fit_intercept=False, tol=1e-6, max_iter=2_000).fit(features, labels)


def test_window_and_tags_are_scored_like_a_layer_by_scikit_learn(
    spec: Spec, outputs: Outputs
) -> None:
    """The words' own vectors at layer 0 beside their neighbours'; their parts of speech."""
    from sklearn.linear_model import LogisticRegression

    model, target = spec.models[0], "label"
    tasks = {task.role: task for task in plan(spec, run(prepare_same(spec)))}
    given = dict(tasks[WINDOW, model, target].arguments)
    trees, classes = given["trees"], dict(tasks["parts of speech", target].arguments)["classes"]
    items = edge_items(target, trees.heads, trees.keep, given["tags"])
    states = read_vectors(model, trees.words, (0,))[0][:, 0].astype(np.float64)
    names = sorted({name for row in classes for name in row})
    marks = np.eye(len(names))[[names.index(name) for row in classes for name in row]]
    starts = np.cumsum([0, *map(len, trees.words)])

    def window(rows: np.ndarray, sentence: int, word: int, reach: int) -> np.ndarray:
        places = [0, *(s * n for n in range(1, reach + 1) for s in (-1, 1))]
        inside = [0 <= word + place < len(trees.words[sentence]) for place in places]
        return np.concatenate(
            [rows[starts[sentence] + word + place] if here else 0 * rows[0]
             for place, here in zip(places, inside, strict=True)]
        )  # fmt: skip

    train, dev = np.cumsum(given["sizes"])[:2]
    fitted, test = items.sentence < train, items.sentence >= dev
    truth = np.array(items.labels)
    chosen = outputs.values[WINDOW, model, target]
    rivals = [(chosen, 0, states, int(chosen["reach"][0]))]
    rivals += [(outputs.values["parts of speech", target], reach, marks, reach) for reach in TAGS]
    for value, row, vectors, reach in rivals:
        pairs = np.array(
            [
                np.concatenate([window(vectors, *place, reach) for place in ((s, h), (s, w))])
                for s, h, w in zip(items.sentence, items.head, items.word, strict=True)
            ]
        )
        features = standardised(pairs[:, None], int(fitted.sum())).numpy()[0]
        slow = _scikit(LogisticRegression, features[fitted], truth[fitted], spec.penalty)
        right = slow.predict(features[test]) == truth[test]
        assert abs(value["correct"][row, 0].sum() - right.sum()) <= 2  # ties in half precision
    assert ("parts of speech", "pos") not in tasks  # tags are what that target predicts


def test_the_lookup_is_the_most_frequent_label_of_the_word(spec: Spec, outputs: Outputs) -> None:
    task = next(
        task for task in plan(spec, run(prepare_same(spec))) if task.role == ("rivals", "pos")
    )
    given, value = dict(task.arguments), outputs.values["rivals", "pos"]
    items = edge_items("pos", given["trees"].heads, given["trees"].keep, given["tags"])
    train, dev = np.cumsum(given["sizes"])[:2]
    words = [
        given["trees"].words[number][word]
        for number, word in zip(items.sentence, items.word, strict=True)
    ]
    counts: dict[str, Counter[str]] = {}
    overall: Counter[str] = Counter()
    for word, label, sentence in zip(words, items.labels, items.sentence, strict=True):
        if sentence < train:
            counts.setdefault(word, Counter())[label] += 1
            overall[label] += 1
    test = [row for row, sentence in enumerate(items.sentence) if sentence >= dev]
    common = overall.most_common(1)[0][0]
    assert value["correct"][0].sum() == sum(items.labels[row] == common for row in test)
    clear = [
        counts.get(words[row], overall).most_common(1)[0][0] == items.labels[row] for row in test
    ]
    assert abs(value["correct"][1].sum() - sum(clear)) <= 0.02 * len(
        test
    )  # ties go by the commonest label here
    assert value["unseen"].sum() == sum(words[row] not in counts for row in test)


def test_items_are_what_the_trees_say() -> None:
    heads, keep = [(2, 0, 2, 2, 4)], [(True, True, True, False, True)]
    tags = [("DET", "NOUN", "_", "PUNCT", "X")]
    found = edge_items("pos", heads, keep, tags)
    assert found.labels == ("DET", "NOUN", "X")
    assert found.word.tolist() == [0, 1, 4]
    labels = edge_items("label", heads, keep, [("nsubj:pass", "root", "obj", "punct", "dep")])
    assert labels.labels == (
        "nsubj",
        "obj",
    )  # the root has none, and an edge to punctuation is none
    assert labels.head.tolist() == [1, 1]
    assert edge_items("distance", heads, keep, [()]).labels == (
        BUCKETS[5],
        "root",
        BUCKETS[3],
        BUCKETS[3],
    )
    far = edge_items("distance", [(12, *[1] * 10, 0)], [(True,) * 12], [()]).labels
    assert far[0] == BUCKETS[8]
    assert far[1:6] == (BUCKETS[3], BUCKETS[2], BUCKETS[1], BUCKETS[1], BUCKETS[1])
    assert far[6] == BUCKETS[0]


def test_control_labels_belong_to_word_types_and_come_as_often_as_the_real_ones() -> None:
    types = [f"w{number % 3000}" for number in range(6000)]
    found = control_labels(types, [0.7, 0.2, 0.1], "pos", 0, 0)
    assert (found[:3000] == found[3000:]).all()
    assert np.abs(np.bincount(found) / 6000 - [0.7, 0.2, 0.1]).max() < 0.03
    for other in (("label", 0, 0), ("pos", 1, 0), ("pos", 0, 1)):
        assert (control_labels(types, [0.7, 0.2, 0.1], *other) != found).mean() > 0.2


def test_place_features_hold_positions_only() -> None:
    items = Items(np.array([0, 0, 1]), np.array([0, 2, 2]), np.array([2, 0, 0]), ("a", "b", "b"))
    features = place_features(items, np.array([3, 3]))[:, 0]
    assert (features[1] == features[2]).all()
    assert (features[0] != features[1]).any()
    assert (features.sum(axis=1) == 5).all()


def test_selectivity_margins_and_differences_are_what_they_say(
    box: dict[str, str], result: Result
) -> None:
    mine = (
        rows_of(result, model=box["gpt2"], probe="pos")
        .set_index(["labels", "metric", "layer"])["value"]
        .sort_index()
    )
    base = (
        rows_of(result, model=box["bert"], probe="pos")
        .set_index(["labels", "metric", "layer"])["value"]
        .sort_index()
    )
    gap = mine["real", ACCURACY] - mine["control", ACCURACY]
    assert np.allclose(mine[SELECTIVITY, ACCURACY], gap)
    assert np.allclose(mine[SELECTIVITY, BITS], mine["control", BITS] - mine["real", BITS])
    rows = result.tables["differences"].query("probe == 'pos'")
    rows = rows[rows["model"] == box["gpt2"]]
    for metric in (ACCURACY, UNSEEN, BITS):
        found = rows[rows["metric"] == metric]["difference"].to_numpy(float)
        expected = (mine["real", metric] - base["real", metric]).to_numpy(float)
        assert np.allclose(found, expected, equal_nan=True)
    margins = result.tables["edge_margins"].query("probe == 'pos' and metric == 'accuracy'")
    untrained = f"random:{box['bert']}"
    assert set(margins["rival"]) == {MAJORITY, LOOKUP, PLACES, WINDOW, EMBEDDINGS, untrained}
    bottom = margins[(margins["rival"] == EMBEDDINGS) & (margins["model"] == box["bert"])]
    scores = base["real", ACCURACY].to_numpy()
    assert np.allclose(bottom["margin"], scores[1:] - scores[0])
    lookup = margins[(margins["rival"] == LOOKUP) & (margins["model"] == box["bert"])]
    value = float(rows_of(result, model=LOOKUP, probe="pos", metric=ACCURACY)["value"].iloc[0])
    assert np.allclose(lookup["margin"], base["real", ACCURACY].to_numpy() - value)
    best = best_rows(result.table, box["bert"])["pos"]
    layers = rows_of(result, model=box["bert"], probe="pos", metric=ACCURACY, labels=REAL)
    assert best["dev"] == layers["dev"].max()


def test_every_chart_is_drawn_from_these_tables(result: Result) -> None:
    drawn = STUDY.figures(result)
    assert len(drawn) == 12
    assert all(chart.to_dict()["layer"] for chart in drawn.values())


def test_another_layer_or_target_runs_only_what_is_new(spec: Spec, result: Result) -> None:
    ready = run(prepare_same(spec))
    tasks = {task.role: task.key for task in plan(spec, ready)}
    fewer = Spec(**(spec.changed() | {"targets": ("pos",), "draws": 70}))
    assert all(tasks[task.role] == task.key for task in plan(fewer, run(prepare_same(fewer))))
    other = Spec(**(spec.changed() | {"seed": 1}))
    assert all(tasks[task.role] != task.key for task in plan(other, run(prepare_same(other))))


def test_text_without_tags_is_refused_by_name(
    spec: Spec, box: dict[str, str], tmp_path: Path
) -> None:
    lines = Path(box["trees"]).read_text(encoding="utf8").splitlines()
    bare = [
        "\t".join([*row[:3], "_", *row[4:7], "_", *row[8:]])
        if len(row := line.split("\t")) > 1
        else line
        for line in lines
    ]
    (tmp_path / "bare.conllu").write_text("\n".join(bare) + "\n", encoding="utf8")
    for target, what in (("pos", "UPOS"), ("label", "labels")):
        asked = Spec(models=spec.models, corpus=str(tmp_path / "bare.conllu"), targets=(target,))
        with pytest.raises(CorpusError, match=f"bare.conllu has no .*{what}.* leave {target} out"):
            plan(asked, run(prepare_same(asked)))
    asked = Spec(models=spec.models, corpus=str(tmp_path / "bare.conllu"), targets=("distance",))
    assert plan(asked, run(prepare_same(asked)))


def test_the_split_is_by_sentence_and_the_coded_order_by_seed(spec: Spec) -> None:
    ready = run(prepare_same(spec))
    treebank: Treebank = ready.values[TREEBANK]
    given = dict(plan(spec, ready)[0].arguments)
    train = given["sizes"][0]
    assert Counter(given["trees"].words[:train]) == Counter(
        tree.words for tree in treebank.parts["train"]
    )
    assert given["trees"].words[:train] != tuple(tree.words for tree in treebank.parts["train"])
    assert not set(given["trees"].words[:train]) & set(given["trees"].words[train:])


def test_the_command_writes_what_the_study_finds(
    spec: Spec, box: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = [
        "--models",
        *spec.models,
        "--corpus",
        box["trees"],
        "--draws",
        "50",
        "--controls",
        "2",
    ]
    assert cli.main(["probe", "edges", *arguments, "--penalty", "3", "--out", str(out)]) == 0
    table = pd.read_csv(out / "table.csv")
    assert set(table["probe"]) == {"pos", "label", "distance"}
    assert (out / "figure.svg").is_file()
    assert (out / "codes.csv").is_file()


@pytest.mark.exhaustive
def test_head_distance_needs_context_in_an_included_model() -> None:
    """Layer 0 has no context, from which the distance of the head is predicted."""
    spec = Spec(
        models=("zoo:seed-0",),
        targets=("distance",),
        sentences=200,
        layers=(0, 3),
        controls=0,
        draws=50,
    )
    result = STUDY.run(spec)
    assert not result.failures
    rows = rows_of(result, model="zoo:seed-0", metric=ACCURACY, labels=REAL).set_index("layer")[
        "value"
    ]
    assert rows[3] > rows[0] + 3
