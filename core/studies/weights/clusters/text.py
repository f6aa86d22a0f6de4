"""What the study found: facts, the headline made of them, and the methods.

`view_text` has the sentence of each view, `notice_text` the notices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.maths.statistics import SIGNIFICANT
from core.models.weights.matrix_families import family_label
from core.studies.text_kit import Estimate, Statement, by_number, estimate_of, listed, text_of
from core.studies.weights.activations import SENTENCES, every_vector, name_of, title_of
from core.studies.weights.clusters.doses import VERDICT_OF_GROUP, dose_sentence
from core.studies.weights.clusters.members import Member
from core.studies.weights.clusters.notice_text import said
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.tables import NORMS, Scored
from core.studies.weights.ranks import (
    CHANCE,
    Spectra,
    pair_sentence,
    rank_sentence,
    state_ranks,
    state_trends,
)
from core.studies.weights.unlabelled import SPELT, WORDS, nearest_in_words

ABOVE, NOT_ABOVE, TOO_FEW = "above chance", "not detectably above chance", "too few to tell"
EXPECTED, VOTED = "expected", "named by the vote"
BY_CHANCE = "named by the vote under shuffled labels"
SAME, DIFFERENT = "with the same label", "with different labels"
PAIRS, CLOSER = "pairs with the same label", "closer than every other pair"
OF_DISTANCES = (SAME, DIFFERENT, PAIRS, CLOSER)
DECIDING = "Learning rate and number of steps also decide that size"
CITATIONS = (
    "vectorsinthewild",
    "hu2022",
    "ilharco2023",
    "roy2007",
    "marchenko1967",
    "phipson2010",
    "hubert1985",
    "hurvich1989",
    "kruskal1964",
)
CLUSTERING = {
    "agglomerative": "average-linkage agglomerative clustering",
    "hdbscan": "HDBSCAN",
}
STATE_CITATIONS = ("xu2025",)  # where delta activations are computed


def verdict_of(p_value: float, smallest_p: float) -> str:
    """Judge a share by the permutation test of its labels."""
    if smallest_p >= SIGNIFICANT:
        return TOO_FEW
    return ABOVE if p_value < SIGNIFICANT else NOT_ABOVE


def statements_of(
    spec: WeightsSpec,
    scored: Scored,
    tables: Mapping[str, pd.DataFrame],
    pair: Sequence[Statement] = (),
) -> tuple[Statement, ...]:
    """State the chosen vector's share first, then the others and the votes, or the pair if nothing
    can be scored; then ranks and distances."""
    of_views = view_statements(spec.vector, spec.of, spec.threshold, tables)
    if not scored.k:
        return (*pair, *of_views)
    rows = [
        row_of(scored.vectors, name, scored.k)
        for name in dict.fromkeys((spec.vector, NORMS, *scored.vectors["vector"]))
    ]
    stated = [
        state_share(rows[0]),
        Statement(CHANCE, EXPECTED, estimate_of(rows[0], "chance")),
        *map(state_share, rows[1:]),
    ]
    if stated[0].verdict != TOO_FEW:
        stated += state_votes(scored.votes)
    doses = tables["doses"]
    of_doses = (
        Statement(row.model, VERDICT_OF_GROUP[row.lies_with], baseline=vector)
        for vector in dict.fromkeys((spec.vector, NORMS))
        for row in doses[doses["vector"] == vector].itertuples()
    )
    return (*stated, *of_doses, *of_views)


def view_statements(
    vector: str, of: str, threshold: float, tables: Mapping[str, pd.DataFrame]
) -> tuple[Statement, ...]:
    """State the ranks by depth and the distances by the chosen vector."""
    return (
        *state_ranks(of, threshold, tables["ranks"]),
        *state_trends(of, tables["trends"]),
        *state_distances(vector, tables["models"], tables["distances"]),
    )


def state_distances(
    vector: str, models: pd.DataFrame, pairs: pd.DataFrame
) -> tuple[Statement, ...]:
    """State the mean distance of pairs with one label and with two, and how many of those with one
    are closer than every other pair, of labelled models; nothing without pairs of both kinds."""
    labels = models[models["label"].fillna("") != ""].set_index("model")["label"]
    pairs = pairs[pairs["model"].isin(labels.index) & pairs["other"].isin(labels.index)]
    if pairs.empty or vector not in pairs:
        return ()
    same = (pairs["model"].map(labels) == pairs["other"].map(labels)).to_numpy()
    if not same.any() or same.all():
        return ()
    within, between = pairs.loc[same, vector], pairs.loc[~same, vector]
    nearer = float((within < between.min()).sum())
    return (
        Statement(vector, SAME, Estimate(float(within.mean()))),
        Statement(vector, DIFFERENT, Estimate(float(between.mean()))),
        Statement(vector, PAIRS, Estimate(float(len(within)), kind="whole")),
        Statement(vector, CLOSER, Estimate(nearer, kind="whole")),
    )


def row_of(vectors: pd.DataFrame, vector: str, k: int) -> pd.Series:
    """The shares of one vector at one number of neighbours."""
    return vectors[(vectors["vector"] == vector) & (vectors["k"] == k)].iloc[0]


def state_share(row: pd.Series) -> Statement:
    """The share of neighbours with the same label by one vector, and whether it is above chance."""
    verdict = verdict_of(row["p_value"], row["smallest_p"])
    return Statement(str(row["vector"]), verdict, estimate_of(row, "share"), baseline=CHANCE)


def make_headline(
    spec: WeightsSpec, statements: Sequence[Statement], scored: Scored, members: Sequence[Member]
) -> str:
    """Say of how many models a vote of the neighbours names the label, whether neighbours share
    labels beyond chance, and whether the size alone does as well."""
    if not scored.k:
        pair, ranks = pair_sentence(statements), rank_sentence(statements, spec.threshold)
        return " ".join(filter(None, (pair, ranks)))
    vector = title_of(spec.vector) + (
        f", rank {spec.rank}" if every_vector()[spec.vector].ranked else ""
    )
    share, expected = statements[:2]
    row, word = row_of(scored.vectors, spec.vector, scored.k), WORDS[spec.label_by]
    size = next(each for each in statements if each.subject == NORMS and each.baseline == CHANCE)
    parts = [
        vote_sentence(statements, scored.votes, scored.k, word),
        neighbour_sentence(
            share, expected, row, scored.k, word, len(scored.predictions), f"; {vector}"
        ),
        *([] if size is share else [_size(size, row_of(scored.vectors, NORMS, scored.k))]),
        *([_training(members)] if size.verdict == ABOVE else []),
        _others(statements, spec.vector),
        dose_sentence(statements),
    ]
    return " ".join(filter(None, parts))


def state_votes(votes: pd.DataFrame) -> list[Statement]:
    """State how many models the vote names right, by each vector, the chosen one first, and how
    many by chance."""
    stated = [
        Statement(
            str(row.vector),
            VOTED,
            Estimate(float(row.right), kind="whole"),
            baseline=f"{row.models} models",
        )
        for row in votes.itertuples()
    ]
    expected = (Estimate(float(each), kind="amount") for each in votes["expected"].head(1))
    return [*stated, *(Statement(CHANCE, BY_CHANCE, each) for each in expected)]


def vote_sentence(
    statements: Sequence[Statement], votes: pd.DataFrame, k: int, word: str, more: str = ""
) -> str:
    """Say of how many models a vote of the nearest neighbours names the label, with chance and what
    the size of the update alone reaches; "" where it cannot be told. `more` ends the brackets."""
    voted = [each for each in statements if each.verdict == VOTED]
    if not voted:
        return ""
    chance = next(each for each in statements if each.verdict == BY_CHANCE).number.value_text
    near = nearest_in_words(k)
    voters = "The nearest neighbour" if k == 1 else f"A vote of the {near} neighbours"
    p_value = float(votes["p_value"].iloc[0])
    above = p_value < SIGNIFICANT
    beyond = "" if above else ", not detectably more than by chance"
    tested = f"{'chance ' if above else ''}{chance} models, {text_of(p_value, 'p')}{more}"
    text = f"{voters} names the {word} of {voted[0].number.value_text} of {voted[0].baseline}"
    alone = [each.number.value_text for each in voted[1:] if each.subject == NORMS]
    rival = f"; by the size of the update alone it names {alone[0]}" if alone else ""
    return f"{text}{beyond} ({tested}){rival}."


def neighbour_sentence(
    share: Statement,
    expected: Statement,
    row: pd.Series,
    k: int,
    word: str,
    models: int,
    more: str = "",
) -> str:
    """Say whether nearest neighbours share a label, with chance and the p-value of the `row`;
    `more` ends the brackets."""
    reached, chance = share.number.value_text, expected.number.value_text
    near = nearest_in_words(k)
    if share.verdict == TOO_FEW:
        neighbours = "one neighbour" if k == 1 else f"{SPELT.get(k, k)} neighbours"
        return (
            f"With {models} models and {neighbours} each, it cannot be tested whether neighbours "
            f"share a {word}: no p-value can be below "
            f"{text_of(row['smallest_p'], 'probability')} "
            f"({reached} share it; chance {chance}{more})."
        )
    tested = f"(chance {chance}, {estimate_of(row, 'p_value').text}{more})"
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
    p = estimate_of(row, "p_value").text
    endings = {
        ABOVE: f" ({p}).",
        NOT_ABOVE: f", not detectably more than chance ({p}).",
        TOO_FEW: ".",
    }
    reached = size.number.value_text
    return f"The size of the update alone gives {reached}{endings[size.verdict]}"


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
        name_of(each.subject)
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


def make_methods(
    spec: WeightsSpec, members: Sequence[Member], scored: Scored, spectra: Spectra
) -> str:
    """A methods paragraph, ready to paste."""
    families = (
        ", ".join(dict.fromkeys(map(family_label, spectra.matrices["family"])))
        if len(spectra.matrices)
        else "none"
    )
    vector = every_vector()[spec.vector]
    parts = (
        said(
            "compared", models=len(members), base=spec.base, families=families,
            vector=spec.vector, meaning=vector.meaning,
        ),
        said("directions", rank=spec.rank) if vector.ranked else "",
        said("states", sentences=SENTENCES) if spec.reads_states else "",
        said(
            "neighbours", label=WORDS[spec.label_by], permutations=spec.permutations, k=scored.k
        ) if scored.k else "",
        said("clusters", method=CLUSTERING[spec.method]),
        said("ranks", threshold=text_of(spec.threshold, "setting")),
    )  # fmt: skip
    return " ".join(filter(None, parts))
