"""The study in a sentence, what its reader must see first, and its method in a paragraph: made from the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from core.models import parse_ref
from core.probes.structural.positions import SIZE
from core.probes.structural.schedule import BATCH, DECAY, LEARNING_RATE
from core.probes.structural.scores import LONGEST, SHORTEST
from core.probes.trees.result import best_row
from core.probes.trees.spec import ProbeSpec
from core.probes.trees.tables import CHAIN, NAMES, PARSED, POSITION, PROBE_OF
from core.results.estimates import estimate_of
from core.results.names import short_name, short_names
from core.results.numbers import text_of

if TYPE_CHECKING:
    import pandas as pd

    from core.probes.trees.data import Treebank

CITATIONS = ("hewitt2019structural", "hewitt2019control", "demarneffe2021")
MOST_NAMED = 3
CLEAR = 0.0  # a margin is clear when its whole band lies above it


def make_headline(tables: Mapping[str, pd.DataFrame], spec: ProbeSpec, *, parsed: bool, coded: Sequence[str]) -> str:
    """One or two sentences: where the first model's score peaks, over which rival and by how much; how others differ.

    Args:
        tables: The study's `scores`, `differences` and `margins`.
        spec: The study.
        parsed: Whether trees are a parser's.
        coded: Models with position codes beside their vectors.
    """
    scores = tables["scores"]
    metric = "uuas" if "distance" in spec.probes else "root"
    best = {ref: row for ref in spec.probed if (row := best_row(scores, ref, metric)) is not None}
    if not best:
        return "No model could be probed; the reasons are below."
    base = next((ref for ref in best if not parse_ref(ref).random), next(iter(best)))
    peak, names = best[base], short_names(best)
    trees = "the parser's trees" if parsed else "gold trees"
    sentence = (
        f"{names[base]} predicts {trees} best in layer {int(peak['layer'])}: {NAMES[metric]} "
        f"{estimate_of(peak, 'value').text}"
        f"{_over_rival(tables['margins'], base, metric, int(peak['layer']), coded)}{_beside_chain(scores, metric)}."
    )
    return " ".join([sentence, *_others(tables["differences"], best, names, base, metric)])


def make_notices(tables: Mapping[str, pd.DataFrame], spec: ProbeSpec) -> list[str]:
    """Expectations from the literature that do not hold in these numbers, each said as it is."""
    scores, margins, notices = tables["scores"], tables["margins"], []
    rows = scores[(scores["metric"] == "uuas") & (scores["probe"] == "distance")]
    chain = rows.loc[rows["model"] == CHAIN]
    for ref in spec.models:
        peak, name = best_row(scores, ref, "uuas"), short_name(ref)
        if peak is None or parse_ref(ref).random:
            continue
        mine, layer = rows[rows["model"] == ref], int(peak["layer"])
        if not chain.empty and float(peak["low"]) <= float(chain["high"].iloc[0]):
            how = "falls short of" if float(peak["high"]) < float(chain["low"].iloc[0]) else "is not clearly above"
            notices.append(
                f"{name}: the best layer's UUAS ({estimate_of(peak, 'value').text}) {how} the linear chain's "
                f"({estimate_of(chain.iloc[0], 'value').text}), which joins each word to the next and knows no syntax."
            )
        if layer in (int(mine["layer"].min()), int(mine["layer"].max())) and len(mine) > 2:
            place = "first" if layer == int(mine["layer"].min()) else "last"
            notices.append(f"{name}: the best layer is the {place} one probed, not one in the middle.")
        bottom = mine[mine["layer"] == 0]
        if layer and not bottom.empty and float(peak["low"]) <= float(bottom["high"].iloc[0]):
            notices.append(f"{name}: the bands of the best layer and of layer 0 overlap.")
        close = margins[(margins["model"] == ref) & (margins["metric"] == "uuas") & (margins["layer"] == layer)]
        notices += [
            f"{name}: the best layer's UUAS is not clearly above that of {_rival(rival, ())}."
            for rival in close.loc[close["low"] <= CLEAR, "rival"]
        ]
    if not (scores["model"] == PARSED).any():
        notices.append("The parser's own score is missing: there is no parser, or no gold heads to hold it against.")
    return notices


def make_methods(spec: ProbeSpec, treebank: Treebank, coded: Sequence[str]) -> str:
    """A methods paragraph, ready to paste.

    Args:
        spec: The study.
        treebank: Its sentences.
        coded: Models with position codes beside their vectors.
    """
    counts = {part: len(rows) for part, rows in treebank.parts.items()}
    split = "as given" if spec.given_splits else "80/10/10 by a hash of the sentence"
    source = f"parsed by {spec.pipeline}" if treebank.parsed else "from the treebank"
    layers = "every layer" if not spec.layers else f"layers {', '.join(map(str, spec.layers))}"
    parts = [
        f"Structural probes (Hewitt & Manning 2019) of rank {spec.rank} for {' and '.join(spec.probes)} were trained "
        f"on {layers} of {', '.join(spec.probed)}. Words are means of their subwords.",
        f"Dependency trees were {source} ({treebank.corpus.ref}; {counts['train']:,} training, {counts['dev']:,} "
        f"development and {counts['test']:,} test sentences, split {split}; the same for all models).",
        f"The loss is the absolute error of squared distances over squared sentence length (of squared norms over "
        f"length), averaged over sentences; Adam at {LEARNING_RATE:g}, batches of {BATCH} sentences drawn anew each "
        f"epoch, learning rate divided by {text_of(1 / DECAY, 'whole')} and moments forgotten after each "
        "epoch without a new minimum "
        f"of the development loss, at most {spec.epochs} epochs. Best layers were chosen on the development sentences.",
        "UUAS is micro-averaged over edges between words that are not punctuation; DSpr. and NSpr. are averaged "
        f"within sentence lengths, then over lengths {SHORTEST} to {LONGEST}.",
    ]
    if coded:
        parts.append(
            f"Beside the vectors of {', '.join(coded)}, centred and divided by their mean deviation, stands a code of "
            f"{SIZE} numbers for each word's place: a linear map of vectors without positions cannot express how far "
            "apart two words stand. Rivals are probes on the code alone and on the untrained model with the code."
        )
    if spec.controls:
        parts.append(
            f"Selectivity is a score less that of probes trained on control trees, in which each word type, as the "
            f"model's tokenizer tells types apart, has a random but fixed rule for its head (after Hewitt & Liang "
            f"2019), as a mean over {spec.controls} draws of the rules. Depths in control trees mostly follow position."
        )
    parts.append(
        f"Scores are means over {spec.seeds} probes from other initial maps; bands are 95 % percentile intervals over "
        f"{spec.draws:,} resamples of the test sentences, to each of which a t-distributed error of the mean over "
        "probes (and over control draws) was added."
    )
    return " ".join(parts)


def _over_rival(margins: pd.DataFrame, base: str, metric: str, layer: int, coded: Sequence[str]) -> str:
    """The margin over the better of what knows positions alone."""
    here = margins[(margins["model"] == base) & (margins["metric"] == metric) & (margins["layer"] == layer)]
    if here.empty:
        return ""
    row = here.loc[here["rival_value"].idxmax()]
    sure = "" if row["low"] > CLEAR or row["high"] < CLEAR else ", no clear margin"
    return (
        f", {estimate_of(row, 'margin').direction('above', 'below')} {_rival(row['rival'], coded)} "
        f"({estimate_of(row, 'rival_value').value_text}{', the better of its rivals' if len(here) > 1 else ''}){sure}"
    )


def _beside_chain(scores: pd.DataFrame, metric: str) -> str:
    rows = scores[(scores["model"] == CHAIN) & (scores["metric"] == metric) & (scores["probe"] == PROBE_OF[metric])]
    return "" if rows.empty else f"; the linear chain has {estimate_of(rows.iloc[0], 'value').value_text}"


def _rival(name: str, coded: Sequence[str]) -> str:
    """A rival as a sentence says it."""
    if name == POSITION:
        return "a probe on positions alone"
    return f"the untrained model{' with positions' if name in coded else ''}"


def _others(
    differences: pd.DataFrame, best: Mapping[str, pd.Series], names: Mapping[str, str], base: str, metric: str
) -> list[str]:
    """How the fine-tuned models differ from the base, each at its own best layer."""
    clauses = []
    for ref, row in best.items():
        mine = differences[(differences["model"] == ref) & (differences["metric"] == metric)]
        here = mine[mine["layer"] == int(row["layer"])]
        if ref == base or parse_ref(ref).random or here.empty:
            continue
        gap = here.iloc[0]
        sure = "" if gap["low"] > 0 or gap["high"] < 0 else ", no clear difference"
        clauses.append(
            f"{names[ref]} is {estimate_of(gap, 'difference').direction('higher', 'lower')} "
            f"in its best layer, {int(row['layer'])}{sure}"
        )
    return [f"Against it, {'; '.join(clauses[:MOST_NAMED])}."] if clauses else []


CAVEATS = {
    "Position is half of syntax.": (
        "Joining each word to the next scores 43 UUAS on English web text without knowing any "
        "syntax. Models with rotary or relative positions keep them out of their vectors, and a "
        "linear probe on such vectors cannot even say which words are neighbours; a code of each "
        "word's place therefore stands beside them. What counts is the margin over a probe on the "
        "code alone and over the untrained model with it."
    ),
    "A probe can learn the task itself.": (
        "Control trees, in which every word type has a fixed random rule for its head, are "
        "learned from words and positions alone. What counts is how far the real score stands "
        "above theirs. One draw of the rules is one language among many: several are taken, and "
        "their spread is in the band."
    ),
    "Control depths are positional.": (
        "Every head in a control tree stands to the left and the first word is the root, so depth "
        "follows place: a negative selectivity of root accuracy says that first words are easy, "
        "not that nothing was found."
    ),
    "Trees drawn by a parser are parses, not gold.": (
        "A model cannot be shown to know more than the parser; the parser's own score stands in the table."
    ),
    "UUAS forgives direction.": (
        "Edges have no arrows and labels do not count; punctuation is left out of both trees."
    ),
    "Few probes.": (
        "A score is a mean over probes from several initial maps; they share one split and one order of sentences."
    ),
    "Present is not used.": ("That a tree can be read off the vectors does not show that the model reads it."),
}
FORMULAS = {
    "Distance probe: the squared distance after a linear map is the number of edges between two words": (
        r"d_B(h_i, h_j)^2 = \lVert B (h_i - h_j) \rVert^2 \approx d_T(w_i, w_j), \qquad B \in \mathbb{R}^{k \times d}"
    ),
    "Depth probe: the squared norm is the number of edges to the root": (
        r"\lVert B h_i \rVert^2 \approx \mathrm{depth}(w_i)"
    ),
    "What is minimised": (
        r"\min_B \frac{1}{|S|} \sum_{s} \frac{1}{n_s^2} \sum_{i,j} \bigl| d_T(w_i, w_j) - d_B(h_i, h_j)^2 \bigr|"
    ),
}
