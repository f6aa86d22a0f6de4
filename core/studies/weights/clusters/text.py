"""What the study found: facts, and the headline made of them.

`view_text` has the sentence of each view, `notice_text` the notices, `method_text` the methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy import ndarray

from core.errors import by_number, listed
from core.maths.spectra.nulls import null_projector_distance
from core.maths.spectra.registry import Features, relative_size
from core.results.estimates import Estimate
from core.results.names import layers_in_words, short_name, short_names
from core.results.numbers import text_of
from core.results.statements import Statement
from core.results.words import words_beside
from core.studies.weights.activations import every_vector, title_of
from core.studies.weights.clusters.members import Member
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.tables import Scored
from core.studies.weights.ranks import layer_sizes

SIGNIFICANT = 0.05
NORMS = "norms"
CHANCE, GAUSSIAN = "chance", "Gaussian matrix of the same shape"
WORDS = {"task": "task", "data": "data set", "base": "base", "table": "label"}
NUMERALS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
SPELT = dict(enumerate(NUMERALS, start=2))

ABOVE, NOT_ABOVE, TOO_FEW = "above chance", "not detectably above chance", "too few to tell"
EXPECTED, VOTED, RANKED = "expected", "named by the vote", "rank"
LOWER, NOT_LOWER = "of lower rank", "not of lower rank"
DECIDING = "Learning rate and number of steps also decide that size"
RIVALS = "other tasks' models with updates of similar size"
NOTHING = words_beside(__file__).sentence("nothing")
NEAR_TASK, NEAR_SIZE = "nearer to its task", "nearer to updates of its size"
NEAR_NEITHER = "nearer to neither"
COSINE, APART, SIZE, MOST = "cosine", "distance of projectors", "changed by", "changed most"
OF_A_PAIR = (COSINE, APART, SIZE, MOST)
VERDICT_OF_GROUP = {"task": NEAR_TASK, "dose": NEAR_SIZE, "neither": NEAR_NEITHER}  # of `lies_with`


def verdict_of(p_value: float, smallest_p: float) -> str:
    """Judge a share by the permutation test of its labels."""
    if smallest_p >= SIGNIFICANT:
        return TOO_FEW
    return ABOVE if p_value < SIGNIFICANT else NOT_ABOVE


def statements_of(
    spec: WeightsSpec,
    scored: Scored,
    models: pd.DataFrame,
    ranks: pd.DataFrame,
    doses: pd.DataFrame,
    pair: Sequence[Statement] = (),
) -> tuple[Statement, ...]:
    """State the chosen vector's share first, then the others; the ranks if nothing can be scored.

    Args:
        spec: The study.
        scored: Shares by vector and k.
        models: The main table, with each model's label and the one that its neighbours vote for.
        ranks: Ranks of every matrix.
        doses: Which group each model of another learning rate is nearer to.
        pair: Of `state_pair`.
    """
    if not scored.k:
        return (*pair, *state_ranks(spec.of, spec.threshold, ranks))
    rows = [
        row_of(scored.vectors, name, scored.k)
        for name in dict.fromkeys((spec.vector, NORMS, *scored.vectors["vector"]))
    ]
    stated = [state_share(rows[0]), state_chance(rows[0]), *map(state_share, rows[1:])]
    if stated[0].verdict != TOO_FEW:
        labelled = models[models["predicted"].notna()]
        right = Estimate(float((labelled["predicted"] == labelled["label"]).sum()), kind="whole")
        stated.append(Statement(spec.vector, VOTED, right, baseline=f"{len(labelled)} models"))
    for vector in dict.fromkeys((spec.vector, NORMS)):
        compared = doses[doses["vector"] == vector]
        for model, group in zip(compared["model"], compared["lies_with"], strict=True):
            stated.append(Statement(model, VERDICT_OF_GROUP[group], baseline=vector))
    return tuple(stated)


def state_pair(
    features: Mapping[str, Features], distances: Mapping[str, ndarray], rank: int
) -> tuple[Statement, ...]:
    """State how the updates of two fine-tunes of one base compare; nothing of more models or fewer.

    Args:
        features: Of each model.
        distances: By vector, shape (model, model).
        rank: Leading directions of the projectors.
    """
    if len(features) != 2:
        return ()
    first, second = features
    moved = np.all([model.delta_norms > 0 for model in features.values()], axis=0)
    shapes = [features[first].shapes[place] for place in np.flatnonzero(moved)]
    cosine = 1 - float(distances["delta"][0, 1]) ** 2 / 2
    stated = [
        Statement(first, COSINE, Estimate(cosine), (), second),
        Statement(first, APART, Estimate(float(distances["projector"][0, 1])), (), second),
        Statement(CHANCE, APART, Estimate(null_projector_distance(shapes, rank))),
    ]
    for ref, model in features.items():
        sizes = layer_sizes(model)
        most = max(sizes, key=lambda layer: sizes[layer])
        stated += [
            Statement(ref, SIZE, Estimate(relative_size(model), kind="per cent")),
            Statement(ref, MOST, Estimate(sizes[most], kind="per cent"), (most + 1,)),
        ]
    return tuple(stated)


def pair_sentence(statements: Sequence[Statement]) -> str:
    """Compare the updates of two fine-tunes, beside chance; "" without statements of a pair.

    Args:
        statements: Of `state_pair`.
    """
    if not statements:
        return ""
    cosine, apart, chance, *sizes = statements
    names = short_names((cosine.subject, cosine.baseline))
    changes = [
        f"{names[size.subject]} changes the weights by {size.number.text} of their norm, most in "
        f"{layers_in_words(most.layers)} ({most.number.text})"
        for size, most in zip(sizes[::2], sizes[1::2], strict=True)
    ]
    return (
        f"The updates of {listed([*names.values()])} have a cosine of {cosine.number.text} (chance "
        f"0) and projectors {apart.number.text} apart (chance {chance.number.text}): "
        f"{listed(changes)}."
    )


def state_ranks(of: str, threshold: float, ranks: pd.DataFrame) -> tuple[Statement, ...]:
    """State the median rank and its ratio to a Gaussian matrix's; nothing if none was measured.

    Args:
        of: "delta", "weights" or "both", which speaks of deltas.
        threshold: Share of the energy that the rank holds.
        ranks: Ranks of every matrix.
    """
    of = "weights" if of == "weights" else "delta"
    rows = ranks[(ranks["threshold"] == threshold) & (ranks["of"] == of) & (ranks["rank"] > 0)]
    if rows.empty:
        return ()
    ratio = float((rows["rank"] / rows["null_rank"]).median())
    rank = Statement(of, RANKED, Estimate(float(rows["rank"].median()), kind="whole"))
    verdict = LOWER if ratio < 1 else NOT_LOWER
    return rank, Statement(of, verdict, Estimate(ratio, kind="per cent"), baseline=GAUSSIAN)


def row_of(vectors: pd.DataFrame, vector: str, k: int) -> pd.Series:
    """The shares of one vector at one number of neighbours."""
    return vectors[(vectors["vector"] == vector) & (vectors["k"] == k)].iloc[0]


def state_share(row: pd.Series) -> Statement:
    """The share of neighbours with the same label by one vector, and whether it is above chance."""
    verdict = verdict_of(row["p_value"], row["smallest_p"])
    return Statement(
        str(row["vector"]), verdict, Estimate(float(row["share"]), kind="per cent"), baseline=CHANCE
    )


def state_chance(row: pd.Series) -> Statement:
    """The share that is expected by chance."""
    return Statement(CHANCE, EXPECTED, Estimate(float(row["chance"]), kind="per cent"))


def make_headline(
    spec: WeightsSpec, statements: Sequence[Statement], scored: Scored, members: Sequence[Member]
) -> str:
    """Say whether neighbours share labels beyond chance, and whether the size alone does as well.

    Args:
        spec: The study.
        statements: See `statements_of`.
        scored: The p-values behind them.
        members: The study's models, with how each was trained.
    """
    if not scored.k:
        pair = [each for each in statements if each.verdict in OF_A_PAIR]
        ranks = rank_sentence(statements[len(pair) :], spec.threshold)
        return " ".join(filter(None, (pair_sentence(pair), ranks))) or NOTHING
    vector = title_of(spec.vector) + (
        f", rank {spec.rank}" if every_vector()[spec.vector].ranked else ""
    )
    share, expected = statements[:2]
    row, word = row_of(scored.vectors, spec.vector, scored.k), WORDS[spec.label_by]
    size = next(each for each in statements if each.subject == NORMS and each.baseline == CHANCE)
    parts = [
        neighbour_sentence(
            share, expected, row, scored.k, word, len(scored.predictions), f"; {vector}"
        ),
        *([] if size is share else [_size(size, row_of(scored.vectors, NORMS, scored.k))]),
        *([_training(members)] if size.verdict == ABOVE else []),
        *(
            f"A vote of the neighbours names the {word} of {each.number.value_text} of "
            f"{each.baseline} correctly."
            for each in statements
            if each.verdict == VOTED
        ),
        _others(statements, spec.vector),
        dose_sentence(statements),
    ]
    return " ".join(filter(None, parts))


def neighbour_sentence(
    share: Statement,
    expected: Statement,
    row: pd.Series,
    k: int,
    word: str,
    models: int,
    more: str = "",
) -> str:
    """Say whether nearest neighbours share a label, with chance and the p-value.

    Args:
        share, expected: The share of neighbours with the same label, and the one expected by
            chance.
        row: The p-value of the share, and the smallest that was possible.
        k: Neighbours looked at.
        word: What the label is: "task".
        models: How many were scored.
        more: What else stands between the brackets.
    """
    reached, chance = share.number.value_text, expected.number.value_text
    near = "nearest" if k == 1 else f"{SPELT.get(k, k)} nearest"
    if share.verdict == TOO_FEW:
        each = "one neighbour" if k == 1 else f"{SPELT.get(k, k)} neighbours"
        return (
            f"With {models} models and {each} each, it cannot be tested whether neighbours share a "
            f"{word}: no p-value can be below {text_of(row['smallest_p'], 'probability')} "
            f"({reached} share it; chance {chance}{more})."
        )
    tested = f"(chance {chance}, {text_of(row['p_value'], 'p')}{more})"
    if share.verdict == ABOVE and share.number.value == 1:
        verb = by_number(k, "neighbour shares", "neighbours share")
        return f"Every model's {near} {verb} its {word} {tested}."
    claim = (
        f"share a {word} more often than chance"
        if share.verdict == ABOVE
        else f"do not detectably share a {word}"
    )
    return f"Neighbours {claim}: {reached} of the {near} do on average {tested}."


def _size(size: Statement, row: pd.Series) -> str:
    """Say what the size of the update reaches without a direction."""
    reached = f"The size of the update alone gives {size.number.value_text}"
    p = text_of(row["p_value"], "p")
    endings = {
        ABOVE: f" ({p}).",
        NOT_ABOVE: f", not detectably more than chance ({p}).",
        TOO_FEW: ".",
    }
    return reached + endings[size.verdict]


def _training(members: Sequence[Member]) -> str:
    """Say whether learning rate and steps, which decide the size of an update, can explain it."""
    recipes = {member.recipe for member in members if not member.variant}
    if "" in recipes:
        return f"{DECIDING}, and they are not known for every model."
    if len(recipes) == 1:
        return (
            "Learning rate and number of steps do not explain this, because all models were "
            f"trained with the same settings ({next(iter(recipes))})."
        )
    return f"{DECIDING}, and they differ between the models."


def _others(statements: Sequence[Statement], chosen: str) -> str:
    """List the shares of the vectors that were not chosen."""
    shares = [
        f"{title_of(each.subject)} {each.number.value_text}"
        for each in statements
        if each.baseline == CHANCE and each.subject not in (chosen, NORMS)
    ]
    free = [
        title_of(each.subject).partition(" (")[0]
        for each in statements
        if each.baseline == CHANCE and not every_vector()[each.subject].gauge_safe
    ]
    note = (
        f" One and the same update may give unrelated {listed(free)} vectors, because these depend "
        "on how it is factored."
        if free
        else ""
    )
    return f"The other vectors give: {', '.join(shares)}.{note}"


def dose_sentence(statements: Sequence[Statement]) -> str:
    """Say which models of another learning rate are nearer to their task, and which not."""
    words = {
        NEAR_TASK: f"closer to every run of {{own}} task than to {RIVALS}",
        NEAR_SIZE: f"closer to {RIVALS} than to any run of {{own}} task",
        NEAR_NEITHER: f"not clearly closer to {{own}} task than to {RIVALS}",
    }
    groups: dict[tuple[str, str], list[str]] = {}
    for each in statements:
        if each.verdict in words:
            groups.setdefault((each.baseline, each.verdict), []).append(short_name(each.subject))
    return " ".join(
        f"By {title_of(vector)}, {listed(names)} {by_number(len(names), 'is', 'are')} "
        f"{words[verdict].format(own=by_number(len(names), 'its', 'their'))}."
        for (vector, verdict), names in groups.items()
    )


def rank_sentence(statements: Sequence[Statement], threshold: float) -> str:
    """Compare the ranks with a Gaussian matrix's; "" if none was measured.

    Args:
        statements: See `state_ranks`.
        threshold: Share of the energy that the rank holds.
    """
    if not statements:
        return ""
    rank, ratio = statements
    what, matrix = (
        ("Weight updates", "update") if rank.subject == "delta" else ("Weight matrices", "matrix")
    )
    verb = "have lower rank" if ratio.verdict == LOWER else "do not have lower rank"
    return (
        f"{what} {verb} than noise: the median {matrix} needs {rank.number.value_text} "
        f"directions for {text_of(threshold, 'setting')} of its energy, "
        f"{ratio.number.value_text} of what a Gaussian matrix needs."
    )
