"""What each view of the weights page shows, in a sentence or two that fit above a figure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from core.models.weights.matrix_families import family_label
from core.results.drawing.maps import MOST_STRESS
from core.results.export import Result
from core.studies.text_kit import Statement, listed, text_of
from core.studies.weights.activations import name_of, title_of
from core.studies.weights.clusters.charts.figures import label_word, stresses_of
from core.studies.weights.clusters.tables import NORMS
from core.studies.weights.clusters.text import (
    ABOVE,
    EXPECTED,
    OF_DISTANCES,
    TOO_FEW,
    neighbour_sentence,
    row_of,
    view_statements,
    vote_sentence,
)
from core.studies.weights.ranks import CHANCE, LOWER, NO_TREND, OF_RANKS, OF_TRENDS
from core.studies.weights.unlabelled import nearest_in_words

COMMON = "projector"  # the vector that a sentence need not name


def votes_sentence(result: Result) -> str:
    """Say of how many models a vote of the neighbours names the label; "" if it cannot be told."""
    votes = result.tables.get("votes")
    if votes is None:  # a result of an earlier version
        return ""
    k, word = int(result.arrays["k"]), label_word(result)
    return vote_sentence(result.statements, votes, k, word, _vector(result))


def map_sentence(result: Result) -> str:
    """Say whether neighbours share a label; "" if nothing can be scored."""
    if not (shares := _shared(result)):
        return ""
    vector, k = str(result.spec["vector"]), int(result.arrays["k"])
    share, row = shares[vector], row_of(result.tables["vectors"], vector, k)
    more, models = _vector(result), _models(result)
    if share.verdict != TOO_FEW and vector != NORMS:
        more += f"; the size of the update alone {shares[NORMS].number.value_text}"
    sentence = neighbour_sentence(share, _chance(result), row, k, label_word(result), models, more)
    stress = stresses_of(result).get(2, 0.0)
    if stress <= MOST_STRESS:
        return sentence
    return f"{sentence} The map distorts distances by {text_of(stress, 'per cent')} (stress)."


def neighbours_sentence(result: Result) -> str:
    """Say by which vectors neighbours share a label more often than chance, the best first."""
    order = list(dict.fromkeys(result.tables["vectors"]["vector"]))
    shares = sorted(
        _shared(result).values(),
        key=lambda share: (-share.number.value, order.index(share.subject)),
    )
    if not shares:
        return ""
    k, chance = int(result.arrays["k"]), _chance(result).number.value_text
    near = nearest_in_words(k)
    if all(share.verdict == TOO_FEW for share in shares):
        return (
            f"{_models(result)} models are too few to test any vector "
            f"(chance {chance} of the {near}): {_shares(shares)}."
        )
    above = [share for share in shares if share.verdict == ABOVE]
    rest = [share for share in shares if share not in above]
    word = label_word(result)
    if not above:
        none = f"Neighbours do not detectably share a {word} by any vector"
        return f"{none} (chance {chance} of the {near}): {_shares(rest)}."
    who = f"The {near} share" if k > 1 else "The nearest shares"
    text = f"{who} a {word} beyond chance ({chance}) by {_shares(above)}"
    named = listed([name_of(each.subject) for each in rest])
    return f"{text}, not detectably by {named}." if rest else f"{text}."


def distances_sentence(result: Result) -> str:
    """Compare distances within a label and between labels; "" without pairs of both kinds."""
    stated = _stated(result, OF_DISTANCES)
    if not stated:
        return ""
    within, between, pairs, nearer = (each.number for each in stated)
    word, verb = label_word(result), "are" if within.value < between.value else "are not"
    count = nearer.value_text
    closer = f"All {count}" if nearer.value == pairs.value else f"{count} of {pairs.value_text}"
    return (
        f"Models with the same {word} {verb} closer together (mean distance {within.value_text}) "
        f"than others ({between.value_text}). {closer} pairs that share a {word} are closer than "
        "every pair that does not."
    )


def depth_sentence(result: Result) -> str:
    """Compare the ranks with a Gaussian matrix's, and say in which families they go with depth."""
    stated = _stated(result, OF_RANKS)
    if not stated:
        return ""
    rank, ratio = (each.number for each in stated)
    matrix = "update" if stated[0].subject == "delta" else "matrix"
    lower = "" if stated[1].verdict == LOWER else "no lower than noise: "
    text = (
        f"The median {matrix} has effective rank {rank.value_text}, {lower}{ratio.value_text} of a "
        "Gaussian matrix's."
    )
    trends = _stated(result, OF_TRENDS)
    moving = sorted(
        (each for each in trends if each.verdict != NO_TREND), key=lambda each: each.verdict
    )
    if not trends:
        return text
    if not moving:
        return f"{text} By fit (AICc, no test), it has no trend over depth in any family."
    clauses = [
        f"{verdict} in {listed([family_label(each.subject) for each in group])}"
        for verdict, group in groupby(moving, key=lambda each: each.verdict)
    ]
    return f"{text} By fit (AICc, no test) rank {listed(clauses)} ({len(moving)} of {len(trends)})."


def _shares(shares: Sequence[Statement]) -> str:
    """ "projectors and delta (100 %) and norms (92 %)": vectors with one share together."""
    return listed(
        [
            f"{listed([name_of(each.subject) for each in group])} ({text})"
            for text, group in groupby(shares, key=lambda share: share.number.value_text)
        ]
    )


def _vector(result: Result) -> str:
    """The chosen vector, for the end of the brackets of a sentence, unless it need not be named."""
    vector = str(result.spec["vector"])
    return "" if vector == COMMON else f"; {title_of(vector)}"


def _models(result: Result) -> int:
    return len(result.tables["predictions"])


def _stated(result: Result, verdicts: Collection[str]) -> list[Statement]:
    """Statements of these verdicts; of a result of an earlier version, which states only what its
    headline says, made from its tables."""
    stated = [each for each in result.statements if each.verdict in verdicts]
    if stated:
        return stated
    vector, of, threshold = (result.spec[name] for name in ("vector", "of", "threshold"))
    made = view_statements(vector, of, float(threshold), result.tables)
    return [each for each in made if each.verdict in verdicts]


def _shared(result: Result) -> dict[str, Statement]:
    """The share of neighbours with the same label, by vector; none if nothing can be scored."""
    return {each.subject: each for each in result.statements if each.baseline == CHANCE}


def _chance(result: Result) -> Statement:
    return next(each for each in result.statements if each.verdict == EXPECTED)
