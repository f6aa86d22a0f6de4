"""Behaviour beside probes: accuracies, differences and correlations, and models without a head."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import t

from core.errors import SpecError, TaskError
from core.models import costs
from core.models.loading import reading
from core.models.sizes import Size
from core.results.columns import meaning
from core.results.estimates import estimate_of
from core.runs.process import second
from core.studies.probes.behaviour import tables
from core.studies.probes.behaviour.spec import BehaviourSpec
from core.studies.probes.behaviour.study import STUDY
from core.studies.probes.behaviour.tables import ALL, BIGRAM, EVERY, RUN, UNRELATED
from core.studies.probes.behaviour.text import (
    BELOW_CHANCE,
    HIGHEST,
    LOWEST,
    NAMES,
    OTHERWISE,
    OVERALL,
    doubts_of,
    make_headline,
    make_notices,
    statements_of,
)
from core.studies.probes.minimal_pairs.pairs_file import OWN
from core.studies.probes.minimal_pairs.templates import KINDS, joined_groups
from core.studies.probes.trees.statements import ABOVE, SIMILAR
from tests.core.results.statements import false_statements
from tests.core.tiny_models import save_tiny

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

SEED, FIRST, OTHER = "zoo:seed-0", "zoo:seed-0@step-0", "zoo:seed-1"


def hits(shares: dict[str, float], count: int = 100) -> tables.Hits:
    """The first pairs of each kind are right."""
    return {
        kind: (np.arange(count) < round(share * count)).astype(float)
        for kind, share in shares.items()
    }


MADE = {
    SEED: hits({"agreement": 0.2, "determiner": 0.9}),
    FIRST: hits({"agreement": 0.5, "determiner": 0.5}),
    BIGRAM: hits({"agreement": 0.5, "determiner": 0.6}),
}


@pytest.fixture(scope="module")
def result() -> Result:
    spec = BehaviourSpec(
        models=(SEED, FIRST, OTHER, "zoo:parse-0"),
        kinds=("agreement", "determiner"),
        pairs=20,
        sentences=140,
        draws=50,
    )
    return STUDY.run(spec)


def test_every_kind_of_pairs_has_a_name() -> None:
    assert {*NAMES} == {*KINDS, OWN, ALL}


def test_all_kinds_count_the_same() -> None:
    table = tables.behaviour_table(MADE).set_index(["model", "kind"])
    assert table.loc[(SEED, ALL), "value"] == pytest.approx(55.0)
    assert table.loc[(SEED, ALL), "pairs"] == 200
    assert table.loc[(SEED, "agreement"), "high"] < 50 < table.loc[(SEED, "determiner"), "low"]
    alone = tables.behaviour_table({SEED: hits({"agreement": 0.2})})
    assert alone["kind"].tolist() == ["agreement"]


def test_differences_are_paired_by_pairs() -> None:
    """Where two models are right on the same pairs, their difference has no noise."""
    same = {SEED: MADE[SEED], BIGRAM: MADE[SEED]}
    rows = tables.margin_table(same, [SEED], {})
    assert (rows[["margin", "low", "high"]] == 0).all(axis=None)
    rows = tables.margin_table(MADE, [SEED, FIRST], {}).set_index(["model", "rival", "kind"])
    assert set(rows.index.droplevel("kind")) == {(SEED, BIGRAM), (FIRST, BIGRAM), (SEED, FIRST)}
    row = rows.loc[(SEED, FIRST, "agreement")]
    assert row["margin"] == pytest.approx(-30.0)
    assert row["low"] < -30 < row["high"] < 0
    whole = rows.loc[(SEED, FIRST, ALL)]
    assert whole["margin"] == pytest.approx(5.0)
    groups, difference = (
        joined_groups({"agreement": 100}),
        100 * (MADE[SEED]["agreement"] - MADE[FIRST]["agreement"]),
    )
    totals = np.array(
        [(difference[groups == group] + 30).sum() for group in range(groups.max() + 1)]
    )
    several = len(totals)
    error = np.sqrt(several / (several - 1) * (totals**2).sum()) / 100
    assert row["high"] - row["margin"] == pytest.approx(t.ppf(0.975, several - 1) * error)


def test_the_longest_run_is_in_the_order_of_training() -> None:
    refs = [SEED, OTHER, "zoo:seed-0@step-800", FIRST]
    assert tables.longest_run(refs) == (FIRST, "zoo:seed-0@step-800", SEED)
    assert tables.longest_run([SEED, OTHER]) == ()


def correlated(scores: dict[str, tuple[float, float]]) -> tuple[dict[str, pd.DataFrame], str]:
    """The tables and the headline of models with these shares of right pairs and probe scores."""
    behaviour = tables.behaviour_table(
        {ref: hits({"agreement": share}) for ref, (share, _) in scores.items()}
    )
    best = [
        {"model": ref, "probe": "distance", "metric": "uuas", "layer": 2, "value": score,
         "low": score - 1, "high": score + 1}
        for ref, (_, score) in scores.items()
    ]  # fmt: skip
    beside = tables.beside_table(behaviour, best)
    assert beside["behaviour"].tolist() == pytest.approx(
        [100 * each[0] for each in scores.values()]
    )
    made = {
        "behaviour": behaviour,
        "behaviour_margins": tables.margin_table({}, [], {}),
        "rank_correlations": tables.correlation_table(beside, behaviour, 0),
    }
    said = statements_of(made, list(scores))
    headline = " ".join(make_headline(said))
    assert all(each.named_in(headline) for each in said)
    return made, headline


def test_only_unrelated_models_are_tested() -> None:
    """Steps of a run improve on everything at once: they are one observation, not four."""
    steps = (FIRST, "zoo:seed-0@step-50", "zoo:seed-0@step-800", SEED)
    names = (*steps, "zoo:seed-0-again", OTHER, "zoo:seed-2")
    shares = (0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.2)
    scores = {
        ref: (share, 40.0 + n) for n, (ref, share) in enumerate(zip(names, shares, strict=True))
    }
    made, headline = correlated(scores)
    table = made["rank_correlations"].set_index("among")
    assert table["models"].to_dict() == {EVERY: 7, RUN: 4, UNRELATED: 3}
    assert table["origins"].to_dict() == {EVERY: 3, RUN: 1, UNRELATED: 3}
    assert table.loc[RUN, "correlation"] == pytest.approx(1.0)
    assert table.loc[UNRELATED, "correlation"] == pytest.approx(-0.5)
    tests = ["low", "high", "p_value", "corrected_p", "smallest_p"]
    assert table.loc[[EVERY, RUN], tests].isna().all(axis=None)
    assert table.loc[UNRELATED, "smallest_p"] == pytest.approx(2 / 6)
    assert "3 unrelated models are too few to tell" in headline
    _, headline = correlated({ref: scores[ref] for ref in (*steps, OTHER)})
    assert "5 models, of which only 2 are unrelated, are too few to tell" in headline


def test_unrelated_models_can_be_enough() -> None:
    """Eight folders that perfectly agree, corrected for all correlations that are tested."""
    refs = [f"path:/runs/{letter}" for letter in "abcdefgh"]
    made, headline = correlated({ref: (0.1 * n, float(n)) for n, ref in enumerate(refs, start=1)})
    (row,) = made["rank_correlations"].to_dict("records")
    assert row["among"] == EVERY
    assert row["corrected_p"] == row["p_value"] < 0.05
    assert "Over 8 unrelated models, higher UUAS goes with higher accuracy" in headline
    made, headline = correlated(
        {f"{refs[0]}/checkpoint-{n}": (0.1 * n, float(n)) for n in range(1, 9)}
    )
    assert made["rank_correlations"]["p_value"].isna().all()
    assert "8 models, of which only 1 is unrelated, are too few" in headline


def test_statements_lead_to_the_headline() -> None:
    made = {
        "behaviour": tables.behaviour_table(MADE),
        "behaviour_margins": tables.margin_table(MADE, [SEED, FIRST], {SEED: MADE[FIRST]}),
    }
    statements = statements_of(made, [SEED, FIRST])
    verdicts = [(each.verdict, each.baseline) for each in statements]
    assert verdicts == [
        (OVERALL, ""), (SIMILAR, BIGRAM), (SIMILAR, FIRST), (HIGHEST, ""), (LOWEST, ""),
    ]  # fmt: skip
    headline = " ".join(make_headline(statements))
    assert all(each.named_in(headline) for each in statements)
    below, otherwise, further = doubts_of(MADE, made["behaviour_margins"], [SEED, FIRST])
    assert below.estimate.level == pytest.approx(1 - 0.05 / 2)  # one final model, two kinds
    assert below.verdict == BELOW_CHANCE
    assert below.subject == otherwise.subject == SEED
    assert below.metric == otherwise.metric == "agreement"
    assert otherwise.verdict == further.verdict == OTHERWISE
    notices = make_notices([below, otherwise, further], [])
    assert len(notices) == 3
    assert all(
        each.named_in(notice)
        for each, notice in zip((below, otherwise, further), notices, strict=True)
    )
    assert statements_of(made, []) == ()
    assert not any(make_headline(()))
    better = {SEED: hits({"agreement": 0.9}), BIGRAM: hits({"agreement": 0.4})}
    above = statements_of(
        {
            "behaviour": tables.behaviour_table(better),
            "behaviour_margins": tables.margin_table(better, [SEED], {SEED: better[SEED]}),
        },
        [SEED],
    )
    assert [each.verdict for each in above] == [OVERALL, ABOVE]


def test_accuracies_below_chance_are_corrected_for_models_and_kinds() -> None:
    """One accuracy whose 95 % interval ends below 50 % is not reported where several are tested."""
    low = {SEED: hits({"agreement": 0.32})}
    none = tables.margin_table(low, [SEED], {})
    row = tables.behaviour_table(low).iloc[0]
    assert row["high"] < 50
    assert [each.verdict for each in doubts_of(low, none, [SEED])] == [BELOW_CHANCE]
    several = {f"zoo:seed-{n}": hits({"agreement": 0.32 if n == 0 else 0.5}) for n in range(5)}
    margins = tables.margin_table(several, list(several), {})
    assert doubts_of(several, margins, list(several)) == ()


def test_both_readings_stand_in_the_headline_where_they_differ() -> None:
    hits_, whole = ({SEED: hits({"polarity": share})} for share in (0.8, 0.3))
    for other, differ in ((whole, True), (hits_, False)):
        made = {
            "behaviour": tables.behaviour_table(hits_),
            "behaviour_margins": tables.margin_table(hits_, [SEED], other),
        }
        statements = statements_of(made, [SEED])
        headline = " ".join(make_headline(statements))
        assert ("Scored on whole sentences" in headline) == differ
        assert ("30 %" in headline) == differ
        assert "80 %" in headline
        notices = make_notices(doubts_of(hits_, made["behaviour_margins"], [SEED]), [])
        assert any("where whole sentences are scored" in notice for notice in notices) == differ


@pytest.mark.slow
def test_models_are_scored_and_probed_and_others_left_out(result: Result) -> None:
    assert not result.failures
    scored = [SEED, FIRST, OTHER]
    assert list(dict.fromkeys(result.table["model"])) == [*scored, BIGRAM]
    assert sum("zoo:parse-0" in notice for notice in result.notices) == 1
    beside = result.tables["beside"]
    for metric in ("uuas", "accuracy"):
        assert beside.loc[beside["metric"] == metric, "model"].tolist() == scored
    assert set(result.tables["rank_correlations"]["among"]) == {EVERY}
    facts = [each for each in result.statements if each.baseline]
    assert all(each.named_in(result.headline) for each in facts if each.subject not in scored[1:])
    accuracy = {each.subject: each.number for each in result.statements if each.verdict == OVERALL}
    assert set(accuracy) == {*scored, BIGRAM}
    rows = result.table.query("kind == 'all' and metric == 'accuracy'").set_index("model")
    for ref, number in accuracy.items():
        assert number == estimate_of(rows.loc[ref], "value")
    assert [each.subject for each in facts if each.baseline == BIGRAM] == scored
    assert "zoo:parse-0" not in result.methods.partition("were scored")[0]
    drawn = STUDY.figures(result)
    assert set(drawn) == {
        "behaviour-distance-uuas", "behaviour-pos-accuracy", "behaviour-steps", "behaviour-kinds",
    }  # fmt: skip
    described = {name: chart.to_dict()["description"] for name, chart in drawn.items()}
    assert "seed-1" in described["behaviour-distance-uuas"]
    assert "bigram baseline" in described["behaviour-steps"]


@pytest.mark.slow
def test_its_columns_are_explained(result: Result) -> None:
    for name, table in result.tables.items():
        assert [column for column in table.columns if not meaning(name, column)] == []
    assert false_statements(result.tables.items()) == []


def test_the_probes_are_those_of_the_probe_study() -> None:
    """A model's probe is stored once, whichever study asked for it first."""
    from core.runs.runner import run
    from core.studies.probes.behaviour import study as behaviour
    from core.studies.probes.trees import study as trees

    spec = BehaviourSpec(models=(SEED,), sentences=60, seeds=1, pairs=10, targets=())
    ready = run(behaviour.prepare(spec))
    roles = {task.role: task for task in behaviour.plan(spec, ready)}
    theirs = {task.role: task for task in trees.plan(spec.as_probes(SEED), ready)}
    assert roles["model", SEED].arguments == theirs["model", SEED].arguments


def test_no_model_with_a_head_is_an_error_that_names_them() -> None:
    spec = BehaviourSpec(models=("zoo:parse-0", "zoo:pos-0"), probes=False, pairs=10)
    with pytest.raises(TaskError, match="zoo:parse-0, zoo:pos-0"):
        STUDY.run(spec)
    with pytest.raises(SpecError, match="No model matches"):
        STUDY.run(BehaviourSpec(models=("zoo:nothing-*",), probes=False))


def test_without_probes_there_is_behaviour_alone() -> None:
    spec = BehaviourSpec(models=(OTHER,), kinds=("determiner",), probes=False, pairs=10)
    made = STUDY.run(spec)
    assert set(made.tables) == {"behaviour", "behaviour_margins"}
    assert set(STUDY.figures(made)) == {"behaviour-kinds"}
    assert STUDY.price(spec).seconds < STUDY.price(BehaviourSpec()).seconds


def test_without_targets_no_classifier_is_priced() -> None:
    structural, labelled = (BehaviourSpec(targets=targets) for targets in ((), ("pos",)))
    assert STUDY.price(structural).seconds < STUDY.price(labelled).seconds


def test_a_model_that_is_read_by_layer_says_so_beside_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "READ_AS_ONE", 10)
    ref = f"path:{save_tiny(tmp_path, 'bert', head=True)}"
    spec = BehaviourSpec(
        models=(ref,), kinds=("agreement", "determiner"), pairs=10, probes=False, draws=20
    )
    said = [notice for notice in STUDY.run(spec).notices if "one at a time" in notice]
    assert [notice.split()[0] for notice in said] == [ref]


def test_the_price_of_a_large_causal_model_is_near_what_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pair of 1.24 billion parameters took 85 processor seconds beside other work, in one
    process, see `benchmarks/layerwise.md`."""
    monkeypatch.setattr(second, "free_memory", lambda: 0.0)
    size = Size(1_235_814_400, 16, 2048, 0, architecture="LlamaForCausalLM")
    monkeypatch.setattr(costs, "size_of", lambda ref: size)
    spec = BehaviourSpec(models=(SEED, OTHER), kinds=("agreement",), pairs=20, probes=False)
    price = STUDY.price(spec)
    assert 85 / 1.2 < price.processor < 85 * 1.2
    assert price.memory == pytest.approx(1.65, rel=0.1)
    every = STUDY.price(replace(spec, kinds=tuple(KINDS)))
    assert every.processor - price.processor < 4 * (price.processor - costs.STARTING)
    probed = STUDY.price(replace(spec, probes=True, targets=(), sentences=140))
    assert probed.memory < 4 * size.parameters / 1e9  # its layers are never in memory together
