"""Numbers of `docs/findings.md` that the precomputed results hold are theirs.

The others are of runs that take minutes to hours; the page names their commands and benchmarks.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd
import pytest

from core.commands.examples.every import EXAMPLES
from core.commands.precomputed import results_of, walk
from core.results.export import Result
from core.results.numbers import text_of
from core.runs.precomputed import default_precomputed
from core.weights.lineage import tables
from docs.make.figures import precomputed
from tests import ROOT

PAGE = re.sub(r"\s+", " ", (ROOT / "docs" / "findings.md").read_text(encoding="utf8"))


def short(value: float) -> str:
    """Two digits without a leading zero, as the page writes similarities and scores."""
    return f"{value:.2f}".removeprefix("0")


def banded(row: pd.Series, value: str, low: str = "low", high: str = "high") -> str:
    """A value with its interval."""
    return f"{short(row[value])} [{short(row[low])}, {short(row[high])}]"


def swap(result: Result) -> list[str]:
    """What the unmodified models score, and what the embeddings of one are worth."""
    own = result.tables["own"].set_index("model")
    sentiment = result.tables["swap"].query("way == 'layer' and model == 'zoo:sentiment-0'")
    worst = sentiment.loc[sentiment["loss"].idxmax()]
    return [
        f"scores {banded(own.loc['zoo:sentiment-0'], 'score')} on 300 labelled sentences",
        f"UAS {short(own.loc['zoo:parse-0', 'score'])} against the demo's parses",
        f"costs most at the embeddings ({banded(worst, 'loss', 'loss_low', 'loss_high')})",
    ]


def probe(result: Result) -> list[str]:
    """The best layer of each model, beside the untrained model and its own static window."""
    margins = result.tables["margins"].query("metric == 'uuas'")
    window = margins.query("rival == 'static window'").set_index(["model", "layer"])
    base, tuned = window.loc[("zoo:seed-0", 2)], window.loc[("zoo:parse-0", 6)]
    untrained = margins[margins["rival"].str.startswith("random:")]
    above = untrained.set_index(["model", "layer"]).loc[("zoo:seed-0", 2)]
    here = margins.query("model == 'zoo:seed-0' and layer == 2").set_index("rival")
    tags = here.loc["parts of speech, three words"]
    arcs = result.tables["arc_margins"].query("model == 'zoo:seed-0' and layer == 2")
    arcs = arcs[arcs["rival"].str.startswith("random:")].set_index("arcs")
    layers = result.tables["best_layers"].query("model == 'zoo:seed-0' and metric == 'uuas'")
    bottom = layers.rename(columns={"difference": "margin"}).set_index("layer").loc[0]
    tied = layers.query("tied")["layer"].tolist()
    assert tied == [*range(tied[0], tied[-1] + 1)]

    def points(row: pd.Series, sign: int = 1) -> str:
        low, high = sorted((sign * row["low"], sign * row["high"]))
        return f"{sign * row['margin']:.1f} points [{low:.1f}, {high:.1f}]"

    return [
        f"predicts {base['rival_value'] + base['margin']:.1f} % of the edges, {points(above)} above",
        f"predicts {base['rival_value']:.1f} %, so the layer is {points(base, -1)} below",
        f"predicts {tuned['rival_value'] + tuned['margin']:.1f} % at layer 6, {points(tuned)} above",
        f"gains {points(arcs.loc['adjacent'])} on the untrained model in edges",
        f"the others ({points(arcs.loc['not adjacent'])})".replace("-", "−"),
        f"layers {tied[0]} to {tied[-1]} are not distinguishable",
        f"layer 2 is {points(bottom)} above layer 0",
        f"predicts {tags['rival_value']:.1f} %.",
    ]


def probe_training(result: Result) -> list[str]:
    """The best layer at the first and at the final step."""
    best = result.tables["best"].query("metric == 'uuas'")
    first, final = best.iloc[0], best.iloc[-1]
    band = f"{final['value']:.1f} [{final['low']:.1f}, {final['high']:.1f}]"
    return [f"UUAS is {first['value']:.1f} at step 0 and {band} for the final model"]


def weights(result: Result) -> list[str]:
    """Shares of neighbours with the same task, two for each model."""
    two = result.tables["vectors"].query("k == 2").set_index("vector")
    assert (two.loc[["projector", "spectrum", "delta"], "share"] == 1.0).all()
    assert two.loc["projector", "p_value"] < 0.001
    return [
        f"chance {100 * two.loc['projector', 'chance']:.0f} %, p < .001",
        f"size of the update alone gives {100 * two.loc['norms', 'share']:.0f} %",
        f"Averaged factors give {100 * two.loc['factors', 'share']:.0f} %",
        f"the vector first proposed {100 * two.loc['original', 'share']:.0f} %",
    ]


def intruders(result: Result) -> list[str]:
    """Intruder dimensions of each model, of all families together."""
    every = result.tables["families"].query("family == 'all'").set_index("model")
    sentiment, parse = every.loc["zoo:sentiment-0"], every.loc["zoo:parse-0"]
    assert every.loc["zoo:nli-0", "intruders"] == 0
    return [
        f"Of {sentiment['looked']} leading directions, `sentiment-0` has {sentiment['intruders']} "
        f"(p = {short(len(every) * sentiment['p_value'])}, corrected for {len(every)} models)",
        f"`parse-0` has {parse['intruders']} and `nli-0` none",
        f"bring {short(parse['null_mean'])} on average for `parse-0`",
    ]


def lineage(result: Result) -> list[str]:
    """Fine-tunes and checkpoints whose parent on record is found, by the tree and its rivals."""
    rules = result.tables["rules"].set_index(["kind", "rule"])
    tree, chance, norms, permuted = (
        rules.loc[("fine-tune", rule)]
        for rule in (tables.BY_NORM, tables.RANDOM, tables.SIZES, tables.PERMUTED)
    )
    growth = result.tables["growth"].set_index(["kind", "property"])
    rising = growth["rising"]
    assert rising["fine-tune", "kurtosis"] == permuted["right"] == 0
    assert rules.loc[("checkpoint", tables.BY_NORM), "share"] == 1.0
    assert growth["starts"][:, "norm"].sum() == 10
    return [
        f"The weights of {tree['right']:.0f} of {tree['of']:.0f} fine-tunes lead to their base",
        f"from random roots {100 * chance['share']:.0f} % of the",
        f"compared with {100 * tree['share']:.0f} % from the smallest norm "
        f"({text_of(tree['p_value'], 'p')})",
        f"in {rising['fine-tune', 'norm']} of 28 fine-tunes and {rising['checkpoint', 'norm']} of 5",
        f"The norms of the matrices alone find {100 * norms['share']:.0f} % of the bases",
    ]


def align(result: Result) -> list[str]:
    """Variance unexplained on unseen words."""
    means = result.tables["methods"].query("words == 'all'")
    methods, again = (
        means[means["group"] == group].set_index("method") for group in ("models", "second run")
    )
    kernel, ridge, ceiling = methods.loc["kernel"], methods.loc["ridge"], again.loc["kernel"]

    def percent(row: pd.Series) -> str:
        return f"[{100 * row['low']:.0f}, {100 * row['high']:.0f}]"

    gains = result.tables["gains"].query("words == 'unseen'").set_index(["gain", "layer"])

    def gain(name: str, layer: int) -> str:
        row = 100 * gains.loc[(name, layer), ["difference", "low", "high"]].astype(float)
        return f"{row['difference']:.1f} points [{row['low']:.1f}, {row['high']:.1f}]"

    unclear = gains.loc["state over window"].query("layer > 0 and low < 0").index.tolist()
    return [
        f"predicts {100 - 100 * methods.loc['static-window', 'nmse']:.0f} % where hidden states",
        f"The layers add {gain('state over window', -1)}: nothing detectable at layers "
        f"{unclear[0]} and {unclear[1]}, {gain('state over window', 6)} at layer 6",
        f"predicts {gain('window beside state', -1)} more than the state alone",
        f"Kernel ridge leaves {100 * kernel['nmse']:.0f} % {percent(kernel)} of the variance",
        f"ridge {100 * ridge['nmse']:.0f} % {percent(ridge)}",
        f"leaves {100 * ceiling['nmse']:.1f} % [{100 * ceiling['low']:.1f}, "
        f"{100 * ceiling['high']:.1f}] of its variance unexplained; with no map it is "
        f"{100 * again.loc['identity', 'nmse']:.1f} %",
    ]


def rsa(result: Result) -> list[str]:
    """What two runs of one seed score, beside two seeds."""
    top = result.tables["references"].query("layer == 6").set_index("model")["similarity"]
    runs, seeds = (short(top[f"zoo:{name}"]) for name in ("seed-0-again", "seed-1"))
    return [f"At layer 6 the RSA of the two runs is {runs}, that of two seeds {seeds}"]


def probe_polar(result: Result) -> list[str]:
    """Edges with head and label, beside what has no syntax."""
    scores = result.tables["polar"].query("metric == 'las'")
    real = scores.query("labels == 'real'").set_index(["model", "layer"])["value"]
    control = scores.query("labels == 'control'").set_index(["model", "layer"])["value"]
    alone = scores[scores["layer"].isna()].set_index("model")["value"]
    untrained = real["random:zoo:seed-0"].max()
    return [
        f"`seed-0` predicts {real['zoo:seed-0', 2]:.0f} % of the edges with head and label",
        f"static window {alone['static window']:.0f} %; `parse-0` "
        f"{real['zoo:parse-0', 6]:.0f} % at layer 6",
        f"({control['zoo:seed-0', 2]:.0f} % on `seed-0`, {control['zoo:parse-0', 6]:.0f} % on",
        f"the untrained model ({untrained - 0.5:.0f} %)",
        f"with the commonest head and label ({alone['linear chain']:.0f} %)",
    ]


def probe_removal(result: Result) -> list[str]:
    """What erasing the probe's subspace costs, beside random subspaces of equal change."""
    costs = result.tables["removal"].query("erased == 'probe'").set_index(["metric", "layer"])
    equal = result.tables["removal_excess"].query("rival == 'random, equal change'")
    gaps = equal.set_index(["metric", "layer"])
    parsing, more = costs.loc[("uas", 6)], gaps.loc[("uas", 6)]
    loss, excess = costs.loc[("loss", 0)], gaps.loc[("loss", 0)]
    for layer in range(1, 6):
        assert gaps.loc[("loss", layer), "low"] < 0 < gaps.loc[("loss", layer), "high"]
    assert (costs.loc["accuracy", "cost_low"] < 0).all()

    def points(value: float, low: float, high: float) -> str:
        return f"{value:.0f} points [{low:.0f}, {high:.0f}]"

    return [
        f"falls by {points(parsing['cost'], parsing['cost_low'], parsing['cost_high'])} at layer 6",
        f"cost {points(-more['margin'], -more['high'], -more['low'])} more",
        f"by {banded(loss, 'cost', 'cost_low', 'cost_high')} nats at layer 0, "
        f"{banded(excess, 'margin')} more than by random subspaces",
    ]


def decoders(results: list[Result]) -> list[str]:
    """How alike two decoders are, and two masked models."""
    pairs = (
        results[0].tables["similarity"].query("model == 'zoo:decoder-1'"),
        results[1].tables["references"].query("model == 'zoo:seed-1'"),
    )
    said = [pair.set_index("layer").loc[layer] for pair in pairs for layer in (3, 6)]
    middle, top, masked_middle, masked_top = (banded(row, "similarity") for row in said)
    untrained = results[0].tables["references"].query("layer == 6").set_index("model")
    assert (results[0].tables["sinks"]["sinks"] == 0).all()
    return [
        f"is {middle} at layer 3 and {top} at layer 6, that of `seed-0` and `seed-1` "
        f"{masked_middle} and {masked_top}.",
        "An untrained decoder has "
        f"−{short(-untrained.loc['random:zoo:decoder-0', 'similarity'])} at layer 6",
    ]


def grammar(results: list[Result]) -> list[str]:
    """Accuracy on all minimal pairs of decoders and of seeds."""
    every = results[1].tables["behaviour"].query("kind == 'all' and metric == 'accuracy'")
    scores = every.set_index("model")["value"]
    low, high, least, most = (
        f"{end(scores[scores.index.str.startswith(f'zoo:{family}')]):.0f}"
        for family in ("decoder", "seed")
        for end in (min, max)
    )
    return [
        f"prefer the grammatical sentence in {low} to {high} % of the pairs, the five seeds in "
        f"{least} to {most} %."
    ]


OF_EXAMPLES = {"decoders": decoders, "grammar": grammar}

CHECKED: dict[str, Callable[[Result], list[str]]] = {
    "swap": swap,
    "probe": probe,
    "probe polar": probe_polar,
    "probe removal": probe_removal,
    "probe training": probe_training,
    "weights": weights,
    "weights intruders": intruders,
    "weights lineage": lineage,
    "align": align,
    "rsa": rsa,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_a_finding_is_what_its_study_found(name: str, precomputed_results: None) -> None:
    for sentence in CHECKED[name](precomputed()[name]):
        assert sentence in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_EXAMPLES)
def test_a_finding_is_what_its_example_found(name: str, precomputed_results: None) -> None:
    (example,) = (example for example in EXAMPLES if example.name == name)
    walked = walk(default_precomputed().get_many).results
    for sentence in OF_EXAMPLES[name](results_of(example, walked)):
        assert sentence in PAGE
