"""Findings by the published protocol and by ours: errors, differences with bands, and what survives.

A finding is a difference of two errors with a sign. It holds where the whole band has that sign, is reversed where the
whole band has the other, and is open where the band holds 0. Bands are jackknives over what was evaluated, wide enough
for all findings of one protocol together (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from core.alignment.published.maps import METHODS, VARIANTS
from core.alignment.seeds.bands import Replicates, leave_out
from core.results.numbers import text_of

if TYPE_CHECKING:
    import pandas as pd

OURS = "ours"
PROTOCOLS = {
    "published": "published protocol",
    "padding": "means without padding",
    "dropout": "dropout off",
    "partners": "same sentences paired",
    "maps": "one network a layer",
    "training": "trained to convergence",
    "rows": "held-out sentences",
    "unit": "each layer's own unit",
    "all": "all seven changes",
    OURS: "ours, on unseen words",
}
assert set(PROTOCOLS) == {*VARIANTS, OURS}
OUR_METHODS = {"identity": "identity", "inn": "inn", "linear": "ridge", "mlp": "mlp", "cca": "cca"}
HOLDS, REVERSED, OPEN = "holds", "reversed", "open"


@dataclass(frozen=True)
class Claim:
    """A finding: what is said, by whom, and the sign that the difference of errors has if it is true."""

    label: str
    says: str
    source: str
    sign: int


CLAIMS = {
    "cca": Claim("beats CCA", "the invertible network leaves less than CCA", "the paper", -1),
    "linear": Claim("beats linear", "the invertible network leaves less than a linear map", "the paper", -1),
    "mlp": Claim("plain is best", "a network that need not be invertible leaves less", "the code", -1),
    "tuned": Claim("tuned differ", "fine-tuned models lie further apart than pretrained ones", "a question", 1),
    "depth": Claim("grows upward", "the top layers lie further apart than the embeddings", "a question", 1),
    "mean": Claim("beats mean", "the invertible network leaves less than the target's mean", "a control", -1),
    "start": Claim("training helps", "the invertible network leaves less than before its training", "a control", -1),
}
LEVEL = 1 - 0.05 / len(CLAIMS)


@dataclass(frozen=True)
class Errors:
    """Errors of one pair by one protocol; squared errors and spreads (layer, unit), a pair of them for each direction.

    `pooled` as in `published_maps.Protocol`.
    """

    spread: list[Float[np.ndarray, "layer unit"]]
    by_method: Mapping[str, list[Float[np.ndarray, "layer unit"]]]
    pooled: bool

    def replicates(self, method: str) -> Replicates:
        """The method's error by layer; "mean" for the mean of the target's training rows."""
        error = self.spread if method == "mean" else self.by_method[method]
        spread = self.spread
        if self.pooled:
            spread = [np.broadcast_to(part.mean(0, keepdims=True), part.shape) for part in spread]
        pairs = [("source", "target"), ("target", "source")][: len(spread)]
        return leave_out(np.stack(error), np.stack(spread), pairs)


def errors_of(value: Mapping[str, Any], variant: str) -> Errors:
    """Errors from what `published_pair` gave."""
    errors = {name: [value[f"{variant}/{name}/error"]] for name in METHODS if f"{variant}/{name}/error" in value}
    return Errors([value[f"{variant}/spread"]], errors, VARIANTS[variant].pooled)


def our_errors(values: Mapping[tuple[str, ...], Mapping[str, Any]]) -> Errors:
    """Errors on unseen words (all test rows where rows are no words) from what `tasks.align_pair` gave, by methods."""
    by_method, spread = {}, []
    for methods, value in values.items():
        for name, ours in OUR_METHODS.items():
            if ours in methods and f"{ours}/error" in value:
                by_method[name] = list(value[f"{ours}/error"][:, 1])
                spread = list(value["spread"][:, 1])
    return Errors(spread, by_method, pooled=False)


def difference(claim: str, errors: Errors, tuned: Errors | None) -> Replicates | None:
    """The difference of errors that a finding is about; None where a protocol does not have both."""
    has = {*errors.by_method, "mean"}
    if claim == "depth":
        if "inn" not in has:
            return None
        by_layer = errors.replicates("inn")
        ends = [
            Replicates(*(part[..., place] for part in _parts(by_layer))) for place in (slice(-1, None), slice(0, 1))
        ]
        return ends[0] - ends[1]
    if claim == "tuned":
        if tuned is None or not {"inn"} <= has & {*tuned.by_method}:
            return None
        first, second = (part.replicates("inn").mean() for part in (tuned, errors))
        return first - second if first.units.shape == second.units.shape else None
    worse, better = ("mlp", "inn") if claim == "mlp" else ("inn", claim)
    if not {worse, better} <= has:
        return None
    return errors.replicates(worse).mean() - errors.replicates(better).mean()


def _parts(replicates: Replicates) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return replicates.point, replicates.models, replicates.units


def verdict(claim: str, low: float, high: float) -> str:
    """Whether a finding holds, is reversed, or is open."""
    sign = CLAIMS[claim].sign
    ends = sorted((sign * low, sign * high))
    return HOLDS if ends[0] > 0 else REVERSED if ends[1] < 0 else OPEN


def claim_rows(errors: Mapping[str, Errors], tuned: Mapping[str, Errors]) -> pd.DataFrame:
    """claim, protocol, difference, low, high, level, verdict: every finding by every protocol that can tell."""
    import pandas as pd

    rows = []
    for claim in CLAIMS:
        for protocol in PROTOCOLS:
            if protocol not in errors:
                continue
            gap = difference(claim, errors[protocol], tuned.get(protocol))
            if gap is None:
                continue
            low, high = (float(end[0]) for end in gap.band(LEVEL))
            told = verdict(claim, low, high) if low == low else OPEN
            rows.append((claim, protocol, float(gap.point[0]), low, high, LEVEL, told))
    return pd.DataFrame(rows, columns=["claim", "protocol", "difference", "low", "high", "level", "verdict"])


def finding_rows(claims: pd.DataFrame) -> pd.DataFrame:
    """claim, says, said_by, published, ours, changed_by, survives: one row a finding."""
    import pandas as pd

    rows = []
    for claim, about in CLAIMS.items():
        verdicts = claims[claims["claim"] == claim].set_index("protocol")["verdict"]
        if "published" not in verdicts.index:
            continue
        theirs, ours = verdicts["published"], verdicts.get(OURS, "")
        changed = [
            PROTOCOLS[name] for name in verdicts.index if name not in ("published", OURS) and verdicts[name] != theirs
        ]
        survives = "not asked" if not ours else "yes" if theirs == ours == HOLDS else "no" if theirs == HOLDS else ""
        survives = survives or ("only by ours" if ours == HOLDS else "found by neither")
        rows.append((claim, about.says, about.source, theirs, ours, "; ".join(changed) or "none", survives))
    return pd.DataFrame(rows, columns=["claim", "says", "said_by", "published", "ours", "changed_by", "survives"])


def error_rows(errors: Mapping[str, Errors], pair: str, width: int) -> pd.DataFrame:
    """pair, protocol, method, layer, nmse, low, high, mse; layer -1 is the mean of all layers."""
    import pandas as pd

    tables = []
    for protocol, measured in errors.items():
        for method in [*measured.by_method, "mean"]:
            by_layer = measured.replicates(method)
            squared = np.mean(
                [part.mean(-1) for part in (measured.spread if method == "mean" else measured.by_method[method])], 0
            )
            for estimate, layers, mse in ((by_layer.mean(), [-1], [squared.mean()]), (by_layer, None, squared)):
                low, high = estimate.band()
                tables.append(
                    pd.DataFrame(
                        {"nmse": estimate.point, "low": low, "high": high, "mse": np.asarray(mse) / width}
                    ).assign(pair=pair, protocol=protocol, method=method, layer=layers or range(len(estimate.point)))
                )
    columns = ["pair", "protocol", "method", "layer", "nmse", "low", "high", "mse"]
    return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)


def make_headline(errors: pd.DataFrame, findings: pd.DataFrame) -> str:
    """The network's error by both protocols beside the mean's, and which findings survive."""
    rows = errors[(errors["pair"] == "models") & (errors["layer"] == -1) & (errors["method"] == "inn")]
    by_protocol = rows.set_index("protocol")["nmse"]
    if "published" not in by_protocol.index:
        return "The published protocol could not be run on this pair; the reasons are below."
    theirs = float(by_protocol["published"])
    text = (
        f"By the published protocol the invertible network leaves {text_of(theirs, 'amount')} times the "
        "target's variance"
    )
    text += f" ({'more' if theirs > 1 else 'less'} than its mean, 1)"
    if OURS in by_protocol.index:
        text += f"; by ours {text_of(float(by_protocol[OURS]))}, on words never fitted on"
    kinds = {
        "yes": "Holds by both",
        "no": "Holds by the published protocol and not by ours",
        "only by ours": "Holds by ours alone",
        "found by neither": "Holds by neither",
    }
    for kind, words in kinds.items():
        said = [str(row["says"]) for _, row in findings.iterrows() if row["survives"] == kind]
        if said:
            text += f". {words}: {'; '.join(said)}"
    return text + "."
