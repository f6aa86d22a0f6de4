"""Findings by the published protocol and by this app's: errors, differences with intervals, and
which findings hold.

A finding is a difference of two errors with a sign. It holds where the whole interval has that
sign, is reversed where the whole interval has the other sign, and is open where the interval
includes 0. Intervals are jackknife intervals over evaluated sentences or words, simultaneous for
all findings of a protocol (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from core.maths.evaluation.bands import Replicates, leave_out
from core.studies.alignment.seeds.tables import joined
from extras.alignment.published.maps import METHODS, VARIANTS
from extras.alignment.published.text import CLAIMS, HOLDS, OPEN, OURS, PROTOCOLS, REVERSED

OUR_METHODS = {"identity": "identity", "inn": "inn", "linear": "ridge", "mlp": "mlp", "cca": "cca"}
SURVIVES = {  # by whether a finding holds by the published protocol and by ours
    (True, True): "yes",
    (True, False): "no",
    (False, True): "only by ours",
    (False, False): "found by neither",
}
LEVEL = 1 - 0.05 / len(CLAIMS)


@dataclass(frozen=True)
class Errors:
    """Errors of one pair by one protocol: squared errors (layer, unit) of each method, one for each
    direction; those of "mean", the mean of the target's training rows, are the spread.

    `pooled` as in `maps.Protocol`.
    """

    by_method: Mapping[str, list[Float[np.ndarray, "layer unit"]]]
    pooled: bool

    def replicates(self, method: str) -> Replicates:
        """Compute a method's error by layer."""
        spread = self.by_method["mean"]
        if self.pooled:
            spread = [np.broadcast_to(part.mean(0, keepdims=True), part.shape) for part in spread]
        pairs = [("source", "target"), ("target", "source")][: len(spread)]
        return leave_out(np.stack(self.by_method[method]), np.stack(spread), pairs)


def errors_of(value: Mapping[str, Any], variant: str) -> Errors:
    """Collect errors from the output of `maps.published_pair`."""
    errors = {
        name: [value[f"{variant}/{name}/error"]]
        for name in METHODS
        if f"{variant}/{name}/error" in value
    }
    errors["mean"] = [value[f"{variant}/spread"]]
    return Errors(errors, VARIANTS[variant].pooled)


def our_errors(values: Mapping[tuple[str, ...], Mapping[str, Any]]) -> Errors:
    """Collect errors on unseen words from the outputs of `seeds.tasks.align_pair`, by methods."""
    by_method, spread = {}, []
    for methods, value in values.items():
        for name, ours in OUR_METHODS.items():
            if ours in methods and f"{ours}/error" in value:
                by_method[name] = list(value[f"{ours}/error"][:, 1])
                spread = list(value["spread"][:, 1])
    return Errors(by_method | {"mean": spread} if by_method else {}, pooled=False)


def difference(claim: str, errors: Errors, tuned: Errors | None) -> Replicates | None:
    """Compute the difference of errors of a finding; None where a protocol does not have both
    errors."""
    if claim == "depth":
        if "inn" not in errors.by_method:
            return None
        by_layer = errors.replicates("inn")
        return by_layer.at_layers(slice(-1, None)) - by_layer.at_layers(slice(0, 1))
    compared = {
        "tuned": ((tuned, "inn"), (errors, "inn")),
        "mlp": ((errors, "mlp"), (errors, "inn")),
    }
    sides = compared.get(claim, ((errors, "inn"), (errors, claim)))
    means = [
        side.replicates(name).mean() for side, name in sides if side and name in side.by_method
    ]
    alike = len(means) == 2 and means[0].units.shape == means[1].units.shape
    return means[0] - means[1] if alike else None


def verdict(claim: str, low: float, high: float) -> str:
    """Decide whether a finding holds, is reversed, or is open, as without an interval (NaN)."""
    sign = CLAIMS[claim].sign
    ends = sorted((sign * low, sign * high))
    return HOLDS if ends[0] > 0 else REVERSED if ends[1] < 0 else OPEN


def claim_rows(errors: Mapping[str, Errors], tuned: Mapping[str, Errors]) -> pd.DataFrame:
    """Make the table claim, protocol, difference, low, high, level, verdict of every finding and
    protocol."""
    gaps = {
        (claim, protocol): difference(claim, errors[protocol], tuned.get(protocol))
        for claim in CLAIMS
        for protocol in PROTOCOLS
        if protocol in errors
    }
    rows = []
    for (claim, protocol), gap in gaps.items():
        if gap is not None:
            value, low, high = (float(end[0]) for end in (gap.point, *gap.band(LEVEL)))
            outcome = verdict(claim, low, high)
            rows.append((claim, protocol, value, low, high, LEVEL, outcome))
    return pd.DataFrame(
        rows, columns=["claim", "protocol", "difference", "low", "high", "level", "verdict"]
    )


def finding_rows(claims: pd.DataFrame) -> pd.DataFrame:
    """Make the table claim, says, said_by, published, ours, changed_by, survives, one row per
    finding."""
    rows = []
    for claim, about in CLAIMS.items():
        verdicts = claims[claims["claim"] == claim].set_index("protocol")["verdict"]
        if "published" not in verdicts.index:
            continue
        theirs, ours = verdicts["published"], verdicts.get(OURS, "")
        changed = [
            PROTOCOLS[name]
            for name in verdicts.index
            if name not in ("published", OURS) and verdicts[name] != theirs
        ]
        survives = SURVIVES[theirs == HOLDS, ours == HOLDS] if ours else "not asked"
        rows.append(
            (claim, about.says, about.source, theirs, ours, "; ".join(changed) or "none", survives)
        )
    return pd.DataFrame(
        rows, columns=["claim", "says", "said_by", "published", "ours", "changed_by", "survives"]
    )


def error_rows(errors: Mapping[str, Errors], pair: str, width: int) -> pd.DataFrame:
    """Make the table pair, protocol, method, layer, nmse, low, high, mse; layer -1 is the mean over
    layers."""
    tables = []
    for protocol, measured in errors.items():
        for method, sums in measured.by_method.items():
            by_layer = measured.replicates(method)
            squared = np.mean([part.mean(-1) for part in sums], 0)
            for estimate, layers, mse in (
                (by_layer.mean(), [-1], np.array([squared.mean()])),
                (by_layer, range(len(squared)), squared),
            ):
                named = {"pair": pair, "protocol": protocol, "method": method, "layer": layers}
                numbers = {**estimate.columns("nmse"), "mse": mse / width}
                tables.append(pd.DataFrame({**named, **numbers}))
    return joined(tables, ("pair", "protocol", "method", "layer", "nmse", "low", "high", "mse"))
