"""Which models a study compares, which of them are runs of one task, and of which the functions of
layers are compared.

A pattern (`zoo:parse-*`) names fine-tunes of the base; included models that were trained from
another base or with other settings are left out of it with a notice. Models whose references differ
only in their last number are runs of one task, unless the number is a step of training or a setting
such as an adapter's rank. A layer's function is compared on the base's own input to that layer, so
only of models that were trained from the base, and only of architectures whose layers can be run
one by one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.errors import SpecError
from core.models import parse_ref, read_manifest, zoo_folder
from core.models.architectures import describe_type
from core.models.changes import changes_of, shares_no_start
from core.models.identity import Identity, find_copies, identities
from core.models.loading.reading import is_layerwise
from core.models.patterns import matching_refs
from core.models.references import is_pattern
from core.models.steps import STEP
from core.models.zoo import included_entries, second_run
from core.studies.kit import Outputs, words_beside
from core.studies.notices import base_left_out, nothing_but_base
from core.studies.rsa.layers.spec import RsaSpec

said = words_beside(__file__).sentence
COMPARED = "compared"  # role of the models of a study in its first stage
FUNCTION = "function"  # part of a task's role: outputs on the base's input
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


def find_compared(base: str, patterns: Sequence[str]) -> Compared:
    """Find the models that references and patterns name, without the base. Raises ModelError
    if one is no reference, SpecError if a pattern matches nothing that can be compared, or only the
    base is named."""
    entries = included_entries()
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
    entries = included_entries()
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


def _is_numbered_run(ref: str) -> bool:
    """Whether a name ends with a number that may be that of a run, and is no step or setting."""
    is_step = any(match.end() == len(ref) for match in STEP.finditer(ref))
    numbered = NUMBERED.search(ref) and not ref.startswith("random:")
    return bool(numbered) and not is_step and not SETTING.search(ref)


def pooled_by_name(groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Say which models were pooled as runs because of their names; included models are known to be
    runs."""
    entries = included_entries()
    return [
        f"{', '.join(runs)} were pooled as runs of one task, because their names differ only in "
        "the last number. If they are not, turn off “Pool runs” (--no-pool-runs)."
        for runs in groups.values()
        if len(runs) > 1 and not all(ref in entries for ref in runs)
    ]


def _other_settings(entry: Mapping[str, Any]) -> bool:
    """Whether the manifest of included models says another learning rate, or frozen layers."""
    return float(entry.get("dose") or 1.0) != 1.0 or bool(entry.get("frozen"))


def find_references(spec: RsaSpec) -> tuple[str, ...]:
    """Find the reference models: another included pretraining seed, of a base `zoo:seed-N` the one
    with the lowest number, a second run of the base's own recipe, and random weights."""
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


def tuned_models(spec: RsaSpec, ready: Outputs) -> tuple[str, ...]:
    """List the models whose layers can read the base's states: those that were trained from it."""
    if not spec.functions or inseparable(identities(ready)[spec.base]):
        return ()
    return tuple(
        ref
        for ref, change in changes_of(ready).items()
        if not np.isnan(change.size) and not shares_no_start(change.apart)
    )


def fits_whole(base: Identity) -> bool:
    """Whether the base's weights are all in memory at once, so that a change can be rotated."""
    return not is_layerwise(base.parameters, base.model_type, random=base.ref.startswith("random:"))


def inseparable(base: Identity) -> str:
    """Say why the base's layers cannot be applied one by one; "" if they can."""
    return describe_type(base.model_type, base.ref).inseparable


def function_notices(spec: RsaSpec, ready: Outputs) -> list[str]:
    """Tell why the functions of layers are missing, for an architecture whose layers depend on each
    other, or are not compared with random changes, for a model that is read layer by layer."""
    if not spec.functions:
        return []
    base = identities(ready)[spec.base]
    reason = inseparable(base)
    if reason:
        return [said("no_functions", base=spec.base, reason=reason)]
    return [] if fits_whole(base) else [said("no_random_changes", base=spec.base)]
