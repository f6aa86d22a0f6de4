"""The study in a sentence, what its reader must see first, and its method in a paragraph: made from the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.probes.spec import ProbeSpec, short_name
from core.probes.tables import CHAIN, LABELS, PARSED, PERCENT

if TYPE_CHECKING:
    import pandas as pd

    from core.probes.data import Treebank

CITATIONS = (
    "Hewitt & Manning 2019. A Structural Probe for Finding Syntax in Word Representations. NAACL.",
    "Hewitt & Liang 2019. Designing and Interpreting Probes with Control Tasks. EMNLP.",
    "de Marneffe, Manning, Nivre & Zeman 2021. Universal Dependencies. Computational Linguistics.",
)
RANDOM_REF = "random:"


def make_headline(table: pd.DataFrame, differences: pd.DataFrame, spec: ProbeSpec, *, parsed: bool) -> str:
    """One or two sentences: where the first model's score peaks and against what, and how the others differ there.

    Args:
        table: The study's table.
        differences: Its differences from the base.
        spec: The study.
        parsed: Whether trees are a parser's.
    """
    metric = "uuas" if "distance" in spec.probes else "root"
    probe = "distance" if metric == "uuas" else "depth"
    rows = table[(table["metric"] == metric) & (table["probe"] == probe)]
    scored = [ref for ref in spec.probed if (rows["model"] == ref).any()]
    if not scored:
        return "No model could be probed; the reasons are below."
    base = next((ref for ref in scored if not ref.startswith(RANDOM_REF)), scored[0])
    peak = _best(rows[rows["model"] == base])
    name = "UUAS" if metric == "uuas" else "root accuracy"
    against = []
    embedding = rows[(rows["model"] == base) & (rows["layer"] == 0)]
    if not embedding.empty and int(peak["layer"]) != 0:
        against.append(f"{embedding['value'].iloc[0]:.1f} in layer 0")
    against += [
        f"{rows.loc[rows['model'] == ref, 'value'].max():.1f} {short_name(ref) if base not in ref else 'untrained'}"
        for ref in scored
        if ref.startswith(RANDOM_REF) and ref != base
    ][:1]
    chain = rows[rows["model"] == CHAIN]
    if not chain.empty:
        against.append(f"{chain['value'].iloc[0]:.1f} for the linear chain")
    trees = "the parser's trees" if parsed else "gold trees"
    sentence = (
        f"{short_name(base)} predicts {trees} best in layer {int(peak['layer'])}: {name} {_with_band(peak)}"
        + (f", against {_listed(against)}" if against else "")
        + "."
    )
    return " ".join([sentence, *_others(rows, differences, scored, base, metric)][:2])


def make_notices(table: pd.DataFrame, differences: pd.DataFrame, spec: ProbeSpec) -> list[str]:
    """Expectations from the literature that do not hold in these numbers, each said as it is."""
    notices = []
    rows = table[(table["metric"] == "uuas") & (table["probe"] == "distance")]
    chain = rows.loc[rows["model"] == CHAIN]
    trained = [ref for ref in spec.models if not ref.startswith(RANDOM_REF) and (rows["model"] == ref).any()]
    untrained = rows[rows["model"].str.startswith(RANDOM_REF)]
    for ref in trained:
        mine = rows[rows["model"] == ref].sort_values("layer")
        peak, name = _best(mine), short_name(ref)
        if not chain.empty and float(peak["low"]) <= float(chain["high"].iloc[0]):
            how = "falls short of" if float(peak["high"]) < float(chain["low"].iloc[0]) else "is not clearly above"
            notices.append(
                f"{name}: the best layer's UUAS ({_with_band(peak)}) {how} the linear chain's "
                f"({_with_band(chain.iloc[0])}), which joins each word to the next and knows no syntax."
            )
        if int(peak["layer"]) in (int(mine["layer"].min()), int(mine["layer"].max())) and len(mine) > 2:
            place = "first" if int(peak["layer"]) == int(mine["layer"].min()) else "last"
            notices.append(f"{name}: the best layer is the {place} one probed, not one in the middle.")
        for label, other in (("layer 0", mine[mine["layer"] == 0]), ("the untrained model", untrained)):
            if other.empty or int(peak["layer"]) == 0:
                continue
            rival = _best(other)
            if float(peak["low"]) <= float(rival["high"]):
                notices.append(f"{name}: the bands of the best layer and of {label} overlap.")
    if not (table["model"] == PARSED).any():
        notices.append("The parser's own score is missing: there is no parser, or no gold heads to hold it against.")
    return notices


def make_methods(spec: ProbeSpec, treebank: Treebank) -> str:
    """A methods paragraph, ready to paste."""
    counts = {part: len(rows) for part, rows in treebank.parts.items()}
    split = "as given" if spec.given_splits else "80/10/10 by a hash of the sentence"
    source = f"parsed by {spec.pipeline}" if treebank.parsed else "from the treebank"
    layers = "every layer" if not spec.layers else f"layers {', '.join(map(str, spec.layers))}"
    parts = [
        f"Structural probes (Hewitt & Manning 2019) of rank {spec.rank} for {' and '.join(spec.probes)} were trained "
        f"on {layers} of {', '.join(spec.probed)}. Words are means of their subwords.",
        f"Dependency trees were {source} ({treebank.corpus.ref}; {counts['train']:,} training, {counts['dev']:,} "
        f"development and {counts['test']:,} test sentences, split {split}; the same for all models).",
        "The loss is the absolute error of squared distances over squared sentence length (of squared norms over "
        "length), averaged over sentences; Adam at 1e-3, batches of 20 sentences, learning rate divided by ten and "
        f"moments forgotten after each epoch without a new minimum of the development loss, at most "
        f"{spec.epochs} epochs.",
        "UUAS is micro-averaged over edges between words that are not punctuation; DSpr. and NSpr. are averaged within "
        "sentence lengths, then over lengths 5 to 50.",
    ]
    if spec.controls:
        parts.append(
            "Selectivity is UUAS less that of probes trained on control trees, in which each word type has a random "
            "but fixed rule for its head (after Hewitt & Liang 2019)."
        )
    parts.append(f"Bands are 95 % percentile intervals over {spec.draws:,} resamples of the test sentences.")
    return " ".join(parts)


def _others(rows: pd.DataFrame, differences: pd.DataFrame, scored: list[str], base: str, metric: str) -> list[str]:
    """How the fine-tuned models differ from the base, each at its own best layer."""
    clauses = []
    for ref in scored:
        mine = differences[(differences["model"] == ref) & (differences["metric"] == metric)]
        if ref == base or ref.startswith(RANDOM_REF) or mine.empty:
            continue
        layer = int(_best(rows[rows["model"] == ref])["layer"])
        here = mine[mine["layer"] == layer]
        if not here.empty:
            row = here.iloc[0]
            sure = "" if row["low"] > 0 or row["high"] < 0 else ", no clear difference"
            unit = " points" if metric in PERCENT else ""
            clauses.append(
                f"{short_name(ref)} {row['difference']:+.1f}{unit} [{row['low']:+.1f}, {row['high']:+.1f}] "
                f"in its best layer, {layer}{sure}"
            )
    return [f"Against it, {'; '.join(clauses[:3])}."] if clauses else []


def _best(rows: pd.DataFrame) -> pd.Series:
    """The row with the highest value."""
    return rows.loc[rows["value"].idxmax()]


def _with_band(row: pd.Series) -> str:
    return f"{row['value']:.1f} [{row['low']:.1f}, {row['high']:.1f}]"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def metric_label(metric: str) -> str:
    """A metric as charts and tables name it."""
    return LABELS[metric]
