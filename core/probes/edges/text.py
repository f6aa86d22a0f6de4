"""An edge-probing study in a sentence, what its reader must see first, and its method in a paragraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from core.models import parse_ref
from core.probes.edges.charts import NAMES
from core.probes.edges.items import BUCKETS
from core.probes.edges.spec import EdgeSpec
from core.probes.edges.tables import ACCURACY, REAL, UNSEEN
from core.probes.edges.tasks import LOOKUP
from core.probes.trees.data import Treebank
from core.results.estimates import estimate_of
from core.results.names import short_name, short_names

if TYPE_CHECKING:
    import pandas as pd

CITATIONS = ("tenney2019", "voita2020", "hewitt2019control")


def best_rows(table: pd.DataFrame, model: str) -> dict[str, pd.Series]:
    """For each target the model's row in the layer with the best accuracy on development sentences."""
    rows = table[(table["model"] == model) & (table["labels"] == REAL) & (table["metric"] == ACCURACY)]
    rows = rows[rows["dev"].notna()]
    return {
        str(target): of_target.loc[of_target["dev"].idxmax()] for target, of_target in rows.groupby("probe", sort=False)
    }


def make_headline(tables: Mapping[str, pd.DataFrame], spec: EdgeSpec) -> str:
    """Where each target is read best off the first trained model, over which rival; how the others differ.

    Args:
        tables: The study's `edges`, `differences` and `edge_margins`.
        spec: The study.
    """
    table = tables["edges"]
    best = {ref: rows for ref in spec.probed if (rows := best_rows(table, ref))}
    if not best:
        return "No model could be probed; the reasons are below."
    base = next((ref for ref in best if not parse_ref(ref).random), next(iter(best)))
    names = short_names(best)
    ahead = {target: _margin(tables, base, row) for target, row in best[base].items()}
    clauses = [
        f"{NAMES[target]} {estimate_of(row, 'value').value_text}{f' ({ahead[target]})' if ahead[target] else ''}"
        for target, row in best[base].items()
    ]
    layers = [f"{int(row['layer'])} for {NAMES[target]}" for target, row in best[base].items()]
    sentences = [f"Read from {names[base]}: {_listed(clauses)}."]
    sentences.append(f"By a linear classifier, in the best layer: {_listed(layers)}.")
    for ref, rows in best.items():
        clauses = [
            f"{NAMES[target]} {gain}" for target, row in rows.items() if (gain := _against(tables, ref, base, row))
        ]
        if clauses and not parse_ref(ref).random:
            sentences.append(f"{names[ref]} against it: {_listed(clauses)}.")
    return " ".join(sentences)


def make_notices(tables: Mapping[str, pd.DataFrame], spec: EdgeSpec) -> list[str]:
    """What these numbers do not show, said as it is."""
    table, margins, notices = tables["edges"], tables["edge_margins"], []
    for ref in spec.models:
        for target, row in best_rows(table, ref).items():
            here = margins[
                (margins["model"] == ref) & (margins["probe"] == target) & (margins["layer"] == row["layer"])
            ]
            close = here[(here["metric"] == ACCURACY) & (here["low"] <= 0)]
            notices += [
                f"{short_name(ref)}, {NAMES[target]}: the best layer is not clearly above {_rival(rival)}."
                for rival in close["rival"]
            ]
            bottom = table[
                (table["model"] == ref) & (table["probe"] == target) & (table["layer"] == 0)
                & (table["labels"] == REAL) & (table["metric"] == ACCURACY)
            ]  # fmt: skip
            if row["layer"] and not bottom.empty and float(row["low"]) <= float(bottom["high"].iloc[0]):
                notices.append(
                    f"{short_name(ref)}, {NAMES[target]}: the bands of the best layer and of layer 0 overlap."
                )
    few = table[(table["metric"] == UNSEEN) & (table["model"] == LOOKUP) & table["value"].isna()]
    notices += [f"No test word of {NAMES[target]} is new: every one stands in training." for target in few["probe"]]
    return notices


def make_methods(spec: EdgeSpec, treebank: Treebank) -> str:
    """A methods paragraph, ready to paste."""
    counts = {part: len(rows) for part, rows in treebank.parts.items()}
    split = "as given" if spec.train else "80/10/10 by a hash of the sentence"
    source = f"parsed by {spec.pipeline}" if treebank.parsed else "from the treebank"
    layers = "every layer" if not spec.layers else f"layers {', '.join(map(str, spec.layers))}"
    parts = [
        f"Edge probes (Tenney et al. 2019) of {_listed([NAMES[target] for target in spec.targets])} were fitted to "
        f"{layers} of {', '.join(spec.probed)}: multinomial logistic regression on vectors of which each dimension "
        f"was centred and divided by its deviation, ridge penalty {spec.penalty:g}. Words are means of their subwords.",
        f"Trees and tags were {source} ({treebank.corpus.ref}; {counts['train']:,} training, {counts['dev']:,} "
        f"development and {counts['test']:,} test sentences, split {split}; the same for all models). Punctuation and "
        "edges to it were left out.",
    ]
    if "label" in spec.targets:
        parts.append("A dependency label, without its subtype, is asked of the head's and the dependent's vector.")
    if "distance" in spec.targets:
        parts.append(
            f"Head distance is asked of the dependent's vector alone, in {len(BUCKETS)} classes: {'; '.join(BUCKETS)}."
        )
    parts.append(
        "Code lengths are online codes (Voita & Titov 2020) of the training labels: sentences in random order, in "
        "blocks that double, each coded by the classifier fitted to all before it, the first by the uniform code. "
        "Best layers were chosen on the development sentences."
    )
    if spec.controls:
        parts.append(
            "Selectivity is accuracy less that on control labels, one for each word type (of the dependent, for "
            "edges), drawn by the real labels' shares (Hewitt & Liang 2019), as a mean over "
            f"{spec.controls} draws."
        )
    parts.append(
        "Rivals are the commonest label; a lookup of the word (of the pair, then the dependent, for edges), which "
        "falls back to the commonest label; a linear classifier of the words' places alone; and the untrained model. "
        f"Bands are 95 % percentile intervals over {spec.draws:,} resamples of sentences (of test sentences for "
        "accuracy, of coded ones, without coding them anew, for code lengths), to each of which a t-distributed "
        "error of the mean over control draws was added where there are any."
    )
    return " ".join(parts)


def _margin(tables: Mapping[str, pd.DataFrame], model: str, row: pd.Series) -> str:
    """The best of the rivals, and whether the margin over it is clear."""
    margins = tables["edge_margins"]
    here = margins[
        (margins["model"] == model) & (margins["probe"] == row["probe"]) & (margins["layer"] == row["layer"])
        & (margins["metric"] == ACCURACY)
    ]  # fmt: skip
    if here.empty:
        return ""
    strongest = here.loc[here["rival_value"].idxmax()]
    sure = "" if strongest["low"] > 0 or strongest["high"] < 0 else ", no clear margin"
    return f"{_rival(strongest['rival'])} {estimate_of(strongest, 'rival_value').value_text}{sure}"


def _against(tables: Mapping[str, pd.DataFrame], model: str, base: str, row: pd.Series) -> str:
    """How a model differs from the base in its best layer."""
    rows = tables["differences"]
    here = rows[
        (rows["model"] == model) & (rows["base"] == base) & (rows["probe"] == row["probe"])
        & (rows["layer"] == row["layer"]) & (rows["metric"] == ACCURACY)
    ]  # fmt: skip
    if here.empty:
        return ""
    gap = here.iloc[0]
    sure = "" if gap["low"] > 0 or gap["high"] < 0 else ", unclear"
    return f"{estimate_of(gap, 'difference').direction('more', 'less')} (layer {int(row['layer'])}{sure})"


def _rival(name: str) -> str:
    """A rival as a sentence says it."""
    names = {"majority": "the commonest label", "word identity": "word identity", "position only": "position alone"}
    return names.get(name, "the untrained model")


def _listed(clauses: Sequence[str]) -> str:
    return clauses[0] if len(clauses) == 1 else f"{', '.join(clauses[:-1])} and {clauses[-1]}"


CAVEATS = {
    "Most of a tag is its word.": (
        "A table of the commonest label of each word reads no context. Layer 0, where words stand "
        "alone, is a stronger rival still: its vectors saw more text than the table. What counts "
        "is the margin over both, and the accuracy on words that are not in training."
    ),
    "A classifier can learn labels that mean nothing.": (
        "Control labels, one drawn at random for each word type, are learned from word identity "
        "alone; selectivity is how far the real accuracy stands above theirs. It is largest where "
        "words have been forgotten, so a rising selectivity says that words fade as much as that "
        "syntax appears."
    ),
    "Accuracy hides effort.": (
        "The code length also counts how many examples it took: of two layers with one accuracy "
        "the shorter code is the one where the label is easier to find. It depends on the order "
        "of the sentences, which is one random order here."
    ),
    "Trees and tags drawn by a parser are parses, not gold.": ("What is probed is agreement with the parser."),
    "Edges are given.": (
        "The label is asked of a head and a dependent that somebody else joined; head distance is "
        "asked of the dependent alone."
    ),
    "Present is not used.": ("That a label can be read off the vectors does not show that the model reads it."),
}
FORMULAS = {
    "A linear classifier of a word's vector, or of a head's and its dependent's": (
        r"p(y \mid x) = \operatorname{softmax}(W x)_y, \qquad "
        r"\min_W -\sum_i \log p(y_i \mid x_i) + \tfrac{\lambda}{2} \lVert W \rVert^2"
    ),
    "Online code of the labels, in blocks that end at t_1, t_2 ... t_S = n": (
        r"L = t_1 \log_2 K - \sum_{s=1}^{S-1} \log_2 p_{W_s}(y_{t_s+1 \ldots t_{s+1}} \mid x_{t_s+1 \ldots t_{s+1}})"
    ),
}
