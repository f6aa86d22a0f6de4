"""The study in a few sentences, and its method in a paragraph: made from the numbers, true for whatever was run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.alignment.maps.registry import METHODS, NON_LINEAR
from core.alignment.seeds.spec import AlignSpec
from core.results.estimates import estimate_of
from core.results.numbers import text_of

if TYPE_CHECKING:
    import pandas as pd

WHICH = {"unseen": "words that no map was fitted on", "all": "held-out rows", "seen": "words seen in training"}


def judged(methods: pd.DataFrame) -> str:
    """The rows that the result is about: words never fitted on, or all held-out rows where rows are no words."""
    return "unseen" if (methods["words"] == "unseen").any() else "all"


def make_headline(spec: AlignSpec, methods: pd.DataFrame, layers: pd.DataFrame, differences: pd.DataFrame) -> str:
    """What carries over to words never fitted on, whether a non-linear map beats ridge, what a lookup table does.

    Args:
        spec: The study.
        methods: group, method, words, nmse, low, high; controls included.
        layers: group, method, words, layer, nmse, low, high.
        differences: group, method, other_group, other_method, words, difference, low, high, level.
    """
    words = judged(methods)
    first = methods[(methods["group"] == "models") & (methods["words"] == words)]
    tried = first[[METHODS[name].kind != "control" for name in first["method"]]]
    if tried.empty:
        return "No pair could be aligned; the reasons are below."
    best = tried.loc[tried["nmse"].idxmin()]
    inside = differences[(differences["group"] == "models") & (differences["other_group"] == "models")]
    sentences = [_share_clause(best, first, words)]
    sentences.append(_non_linear_clause(inside[inside["words"] == words]))
    sentences.append(_lookup_clause(methods, inside))
    of_best = (layers["group"] == "models") & (layers["method"] == best["method"]) & (layers["words"] == words)
    sentences.append(_layer_clause(layers[of_best]))
    if spec.against:
        sentences.append(_group_clause(differences[differences["words"] == words], str(best["method"])))
    return ". ".join(sentence for sentence in sentences if sentence) + "."


def _share_clause(best: pd.Series, first: pd.DataFrame, words: str) -> str:
    """Which share of the target's variance carries over, by the best map and by ridge."""
    label = METHODS[best["method"]].label
    shared = text_of(1 - best["nmse"], "per cent") if best["nmse"] < 1 else "nothing"
    text = (
        f"On {WHICH[words]}, {shared} of the target's variance carries over, by {label} (error "
        f"{estimate_of(best, 'nmse').text}"
    )
    ridge = first[first["method"] == "ridge"]
    if not ridge.empty and best["method"] != "ridge":
        text += f"; by ridge {estimate_of(ridge.iloc[0], 'nmse').text}"
    identity = first[first["method"] == "identity"]
    if not identity.empty:
        text += f"; without a map {text_of(identity.iloc[0]['nmse'], 'amount')}"
    return text + ")"


def _non_linear_clause(differences: pd.DataFrame) -> str:
    """Whether any non-linear map beats the best linear rival, by how much, with a band for all of them together."""
    against_ridge = differences[(differences["other_method"] == "ridge") & differences["method"].isin(NON_LINEAR)]
    if against_ridge.empty:
        return ""
    best = against_ridge.loc[against_ridge["difference"].idxmin()]
    change = _change(best)
    label = METHODS[best["method"]].label
    if best["high"] < 0:
        text = f"{_upper(label)} beats ridge there ({change})"
    elif best["low"] > 0:
        return f"No non-linear map beats ridge there; the best, {label}, is worse ({change})"
    else:
        return f"No non-linear map is shown to beat ridge there; the best is {label} ({change}, a band that holds 0)"
    network = against_ridge[against_ridge["method"] == "inn"]
    if not network.empty and best["method"] != "inn":
        row = network.iloc[0]
        verb = "beats it too" if row["high"] < 0 else "is worse than ridge" if row["low"] > 0 else "is not told from it"
        text += f"; the invertible network {verb} ({_change(row)})"
    return text


def _lookup_clause(methods: pd.DataFrame, differences: pd.DataFrame) -> str:
    """On words seen in training: how far the table by word, which reads no source, gets, and ridge beside it."""
    seen = methods[(methods["group"] == "models") & (methods["words"] == "seen")].set_index("method")
    if "lookup" not in seen.index:
        return ""
    leaves = estimate_of(seen.loc["lookup"], "nmse").text
    text = f"On {WHICH['seen']}, a table of mean vectors by word, which reads no source, leaves {leaves}"
    rows = differences[
        (differences["words"] == "seen")
        & (differences["method"] == "ridge")
        & (differences["other_method"] == "lookup")
    ]
    if rows.empty:
        return text
    row = rows.iloc[0]
    return f"{text}, and ridge {estimate_of(row, 'difference').direction('more', 'less')}"


def _layer_clause(rows: pd.DataFrame) -> str:
    """At which layer the spaces are most alike and at which least; nothing of a single layer."""
    if len(rows) < 2:
        return ""
    low, high = rows.loc[rows["nmse"].idxmin()], rows.loc[rows["nmse"].idxmax()]
    return (
        f"They are most alike in layer {int(low['layer'])} ({estimate_of(low, 'nmse').text}), "
        f"least in layer {int(high['layer'])} ({estimate_of(high, 'nmse').text})"
    )


def _group_clause(differences: pd.DataFrame, method: str) -> str:
    rows = differences[(differences["other_group"] == "models") & (differences["group"] == "against")]
    rows = rows[rows["method"] == method]
    if rows.empty:
        return ""
    row = rows.iloc[0]
    band = _change(row)
    if row["high"] < 0:
        return f"The second group is aligned more closely than the first ({band})"
    if row["low"] > 0:
        return f"The second group is aligned less closely than the first ({band})"
    return f"The two groups are aligned equally well, as far as these models can tell ({band})"


def make_methods(spec: AlignSpec, sentences: int) -> str:
    """A methods paragraph, ready to paste."""
    from core.alignment.seeds.protocol import SHARES

    shares = ", ".join(f"{text_of(share, 'per cent')} {part}" for part, share in SHARES.items())
    rows = {"words": "words (mean of their subwords)", "cls": "[CLS] vectors", "mean": "sentence means"}[spec.items]
    labels = ", ".join(METHODS[name].label for name in spec.methods)
    held = {"word": "Word types were split by a hash of the word", "sentence": "Sentences were split by a hash"}
    unit = {"word": "word types", "sentence": "sentences"}[spec.split]
    return (
        f"Hidden states of {sentences:,} sentences from {spec.corpus} were read from both models of "
        f"{len(spec.pairs())} pairs in evaluation mode; rows are {rows}. {held[spec.split]} ({shares}). "
        f"At every layer and in both directions a map from source to target was fitted on the training rows "
        f"({labels}); penalties, widths, ranks "
        "and the length of training were chosen on the validation rows, each network trained until three rates had "
        "brought no improvement. Errors are squared errors on the test rows over the target's squared distance from "
        "its training mean; a word is seen if its type is in training. Bands are 95 % Student's t intervals from the "
        f"jackknife over {unit} and, with three models or more, over models; those of the non-linear maps against "
        "ridge hold together (Bonferroni)."
    )


def _change(row: pd.Series) -> str:
    """By how much an error is lower or higher than the one that it is compared with."""
    return f"error {estimate_of(row, 'difference').direction('higher', 'lower')}"


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]


METHOD_NOTE = (
    "The code that was released with the paper pairs unrelated sentences, keeps dropout on, averages over padding, "
    "shares one map over all layers and trains at a learning rate of 1e-6. Here both models read the same sentences in "
    "evaluation mode, only words count, every layer has a map of its own, every network is trained until it has "
    "converged, and every number is of held-out words."
)
CAVEATS = {
    "It is mostly the word.": (
        "Split by sentence, most test words were fitted on in other sentences, and a table of "
        "mean vectors by word, which reads no source at all, competes with any map. Read errors "
        "on words that were never fitted on; split by word holds out whole word types."
    ),
    "Training error.": ("With as many dimensions as rows least squares fits anything. Only held-out error is shown."),
    "A low error of a non-bijective map says nothing of a bijection.": (
        "Kernel ridge and the plain network may throw information away; read the round-trip error "
        "of the invertible maps in the table (`inverse_error`)."
    ),
    "Retrieval flatters.": ("A map with an error of .5 can still find most words among a thousand."),
    "Pairs share models.": (
        "Twenty directed pairs of five seeds are five models, not twenty samples: bands leave out "
        "one model at a time, and one held-out word or sentence at a time. With two models only "
        "words or sentences are left out, so the band is of this pair."
    ),
    "How this differs from the published code.": METHOD_NOTE,
}
FORMULAS = {
    "Normalised held-out error of a map f": (
        r"\mathrm{NMSE} = \frac{\sum_i \lVert f(x_i) - y_i \rVert^2}"
        r"{\sum_i \lVert y_i - \bar y_{\mathrm{train}} \rVert^2}"
    ),
    "An affine coupling block; its inverse is as cheap": (
        r"y_1 = x_1 \odot e^{s(x_2)} + t(x_2), \qquad y_2 = x_2 \odot e^{s'(y_1)} + t'(y_1)"
    ),
}
