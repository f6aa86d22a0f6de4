"""Which models a study compares, and which of them are runs of one task: these are pooled into one
curve.

A pattern (`zoo:parse-*`) names fine-tunes of the base; included models that were trained from
another base or with other settings are left out of it with a notice. Models whose references differ
only in their last number are runs of one task, unless the number is a step of training or a setting
such as an adapter's rank. Their curve is the mean, with a band of two sources: the runs, and the
sentences that all of them share. Their chance level is the widest of the runs'.

Reference:
    Zou & Donner 2008, Construction of confidence limits about effect measures (half-widths of
    independent sources are added in squares).
Deviations: none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.errors import SpecError
from core.maths.statistics import LEVEL, t_interval
from core.models import parse_ref, read_manifest, zoo_folder
from core.models.identity import describe_copies, find_copies, identities
from core.models.patterns import matching_refs
from core.models.references import is_pattern
from core.models.steps import STEP
from core.models.zoo import read_adapters, second_run
from core.studies.kit import Outputs, words_beside
from core.studies.notices import base_left_out, nothing_but_base
from core.studies.rsa.layers.spec import RsaSpec

said = words_beside(__file__).sentence
COMPARED = "compared"  # role of the models of a study in its first stage
NUMBERED = re.compile(r"[-_]\d+$")
SETTING = re.compile(r"(?:epochs?|lora|rank)[-_]\d+$", re.IGNORECASE)  # a number that is no run's


@dataclass(frozen=True)
class Compared:
    """The models of a study, each once, notices of what a pattern left out, and reference
    models."""

    refs: tuple[str, ...]
    notices: tuple[str, ...]
    references: tuple[str, ...] = ()


def copies_of(ready: Outputs) -> dict[str, str]:
    """Find the compared models that are copies of others, which are no further runs."""
    models, refs = identities(ready), ready.values[COMPARED].refs
    return find_copies({ref: models[ref].weights for ref in refs if ref in models})


def copy_notices(ready: Outputs) -> list[str]:
    """Say which models were left out as copies."""
    return describe_copies(copies_of(ready))


def find_compared(base: str, patterns: Sequence[str]) -> Compared:
    """Find the models that references and patterns name, without the base. Raises SpecError if a
    pattern matches nothing that can be compared, or only the base is named."""
    entries = {str(entry["ref"]): entry for entry in read_manifest()}
    refs: list[str] = []
    notices: list[str] = []
    for pattern in patterns:
        matches = list(matching_refs(pattern))
        if base in matches:
            notices.append(base_left_out(base))
            matches.remove(base)
        if is_pattern(pattern):
            elsewhere = [
                ref for ref in matches if entries.get(ref, {}).get("base", base) not in (base, None)
            ]
            if elsewhere:
                names = ", ".join(f"{ref} ({entries[ref]['base']})" for ref in elsewhere)
                notices.append(said("other_base", base=base, names=names))
            matches = [ref for ref in matches if ref not in elsewhere]
            variants = [ref for ref in matches if _other_settings(entries.get(ref, {}))]
            if variants and len(variants) < len(matches):
                notices.append(said("other_settings", names=", ".join(variants)))
                matches = [ref for ref in matches if ref not in variants]
        if not matches and pattern != base:
            raise SpecError(
                f"No model that can be compared with {base} matches {pattern!r}: "
                "choose other models."
            )
        refs += matches
    if not refs:
        raise nothing_but_base(base)
    return Compared(tuple(dict.fromkeys(refs)), tuple(dict.fromkeys(notices)))


def runs_of(base: str, refs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Group runs of one task under a pattern such as zoo:parse-*; other models, such as checkpoints
    of one run and adapters of different ranks, are groups of one."""
    entries = _entries()
    groups: dict[str, list[str]] = {}
    for ref in refs:
        entry = entries.get(ref, {"base": base})
        alike = entry.get("base") == base and not _other_settings(entry)
        poolable = alike and _is_numbered_run(ref)
        groups.setdefault(NUMBERED.sub("-*", ref) if poolable else ref, []).append(ref)
    whole: dict[str, tuple[str, ...]] = {}
    for name, runs in groups.items():
        ranks = {(entries.get(ref, {}).get("settings") or {}).get("rank") for ref in runs}
        if len(runs) > 1 and len(ranks) == 1:
            whole[name] = tuple(runs)
        else:
            whole |= {ref: (ref,) for ref in runs}
    return whole


def _entries() -> dict[str, dict[str, Any]]:
    """The manifest's entries of models and adapters, by reference."""
    return {str(entry["ref"]): entry for entry in (*read_manifest(), *read_adapters())}


def _is_numbered_run(ref: str) -> bool:
    """Whether a name ends with a number that may be that of a run, and is no step or setting."""
    is_step = any(match.end() == len(ref) for match in STEP.finditer(ref))
    numbered = NUMBERED.search(ref) and not ref.startswith("random:")
    return bool(numbered) and not is_step and not SETTING.search(ref)


def pooled_by_name(groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Say which models were pooled as runs because of their names; included models are known to be
    runs."""
    entries = _entries()
    return [
        f"{', '.join(runs)} were pooled as runs of one task, because their names differ only in "
        "the last number. If they are not, turn off “Pool runs” (--no-pool-runs)."
        for runs in groups.values()
        if len(runs) > 1 and not all(ref in entries for ref in runs)
    ]


def pool_rows(
    rows: pd.DataFrame, groups: Mapping[str, Sequence[str]], lowest: float
) -> pd.DataFrame:
    """Pool the curves of each group of runs into one, whose band does not go below the measure's
    lowest value; adds `runs`, how many models a row pools. A row of one model is as it was."""
    frames = []
    for name, runs in groups.items():
        mine = rows[rows["model"].isin(runs)]
        there = mine["model"].nunique()
        if there == 1:
            frames.append(mine.assign(runs=1))
        elif there:
            by_layer = mine.groupby("layer", sort=True)
            pooled = [_pool(name, layer, part, lowest) for layer, part in by_layer]
            frames.append(pd.DataFrame(pooled, columns=[*rows.columns, "runs"]))
    return (
        pd.concat(frames, ignore_index=True)
        if frames
        else rows.assign(runs=np.zeros(len(rows), dtype=int))
    )


def _pool(name: str, layer: Any, part: pd.DataFrame, lowest: float) -> dict[str, Any]:
    """Pool one layer of the runs of one task."""
    values = part["similarity"].to_numpy(dtype=float)
    point = float(values.mean())
    low, high = pooled_band(values, *(part[end].to_numpy(dtype=float) for end in ("low", "high")))
    return {
        "model": name,
        "layer": layer,
        "similarity": point,
        "low": max(low, min(lowest, point)),  # a similarity may leave the range by rounding
        "high": min(high, max(1.0, point)),
        "null_low": part["null_low"].min(),
        "null_high": part["null_high"].max(),
        "relative_change": part["relative_change"].mean(),
        "apart": part["apart"].mean(),
        "scaled": part["scaled"].mean(),
        "runs": len(values),
    }


def pooled_band(
    values: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    level: float = LEVEL,
) -> tuple[float, float]:
    """Compute the interval of the mean of two or more runs, (run,) each, over runs and the
    sentences that all of them share. With few runs, Student's t with Welch's degrees of freedom
    would cover as little as 88 % where runs vary more than sentences."""
    mean = float(values.mean())
    over_runs, _ = t_interval(mean, [values.var(ddof=1) / len(values)], [len(values) - 1], level)
    # A band's shorter side may be cut off at the end of the measure's range.
    over_sentences = np.maximum(values - low, high - values)
    half = float(np.sqrt((mean - over_runs) ** 2 + (over_sentences**2).mean()))
    return mean - half, mean + half


def _other_settings(entry: Mapping[str, Any]) -> bool:
    """Whether the manifest of included models says another learning rate, or frozen layers."""
    return float(entry.get("dose") or 1.0) != 1.0 or bool(entry.get("frozen"))


def find_references(spec: RsaSpec) -> tuple[str, ...]:
    """Find the reference models: another included pretraining seed, a second run of the base's own
    recipe, and random weights.

    There is another seed if the base is `zoo:seed-N`: the one with the lowest number.
    """
    if not spec.references:
        return ()
    ref = parse_ref(spec.base)
    references: list[str] = []
    if ref.kind == "zoo" and not ref.random and _seed_number(ref.name) is not None:
        names = [str(entry.get("name", "")) for entry in read_manifest()]
        names = names or [path.name for path in (zoo_folder() / "models").glob("seed-*")]
        siblings = {
            seed: name
            for name in names
            if (seed := _seed_number(name)) is not None and name != ref.name
        }
        references += [f"zoo:{siblings[min(siblings)]}"] if siblings else []
        references += [again] if (again := second_run(str(ref))) else []
    if not ref.random:
        references.append(f"random:{spec.base}")
    return tuple(references)


def _seed_number(name: str) -> int | None:
    match = re.fullmatch(r"seed-(\d+)", name)
    return int(match[1]) if match else None
