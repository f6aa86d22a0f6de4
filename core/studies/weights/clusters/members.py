"""Which models a study compares, and what is known of each: base, task, data set, label.

`zoo:*-*` stands for every included fine-tune of the base that was trained with the common settings.
A model of another base is left out with a notice, or compared with its own base if asked, because
another base has other directions. A model trained with other settings (learning rate, frozen
layers) is left out too, unless it is named or a pattern matches only such models: it serves as a
comparison and is not scored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from core.errors import ModelError, SpecError
from core.maths.progress import tick
from core.models import parse_ref, read_manifest
from core.models.hub import listing as hub_listing
from core.models.hub.collections import PRESETS
from core.models.patterns import matching_refs
from core.models.references import is_pattern
from core.models.steps import in_order_of_training, run_of
from core.models.zoo import included_entries, read_adapters
from core.studies.notices import base_left_out
from core.studies.weights.clusters.notice_text import (
    describe_strangers,
    said,
)

EVERY = "zoo:*-*"  # every included fine-tune
MOST_MODELS = 200
LISTED = 100  # fine-tunes of a base that are requested from the Hub at least
PER_MODEL = 10  # requested per model wanted: many are gated, or have pickled weights only
PRETRAINING = "masked-lm"
NUMBERED = re.compile(r"[-_]\d+$")
UNTELLING = re.compile(  # names of folders that name no task
    r"(?:(?:global[-_]?)?(?:checkpoint|ckpt|steps?|epoch)|run|seed|trial|model|fold|version|v)"
    r"[-_]?\d*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Member:
    """One fine-tune of a study.

    Attributes:
        ref: Its reference.
        base: Reference of the model that it started from.
        task: What it was fine-tuned for; "" if unknown.
        data: Data set; "" if unknown.
        data_from: Source of the data set's name for models that are not included: "card" or "name".
        dose: Learning rate relative to that of the other included runs; 1 if unknown.
        frozen: How many of the lowest layers were frozen, with the embeddings.
        recipe: Learning rate and steps, in words; "" if unknown.
        guessed: Whether the task was guessed from the name, which counts where models share it.
    """

    ref: str
    base: str
    task: str = ""
    data: str = ""
    dose: float = 1.0
    frozen: int = 0
    recipe: str = ""
    data_from: str = ""
    guessed: bool = field(default=False, compare=False)

    @property
    def variant(self) -> bool:
        """Whether it was trained with other settings than the included runs of its task."""
        return self.dose != 1.0 or self.frozen > 0

    def label(self, by: str, table: Mapping[str, str]) -> str:
        """Its label by "task", "data", "base" or a table (by reference); "" if it has none."""
        if by == "table":
            return table.get(self.ref, "")
        return {"task": self.task or self.data, "data": self.data or self.task, "base": self.base}[
            by
        ]


@dataclass(frozen=True)
class Members:
    """The models of a study, and what was left out."""

    members: tuple[Member, ...]
    notices: tuple[str, ...]


def find_members(base: str, patterns: Sequence[str], own_bases: bool = False) -> Members:
    """Find the models that references and patterns name, each once, included models in their order;
    `own_bases` keeps those of another base. Raises SpecError if a pattern matches nothing or no
    model is left, ModelError if a text is not a model reference."""
    base = str(parse_ref(base))
    members: dict[str, Member] = {}
    otherwise: dict[str, Member] = {}
    notices: list[str] = []
    for place, pattern in enumerate(patterns):
        tick(place / len(patterns), pattern)
        matches = _expand(pattern.strip(), base)
        if any(member.ref == member.base == base for member in matches):
            notices.append(base_left_out(base))
            matches = [member for member in matches if member.ref != base]
        strangers = [member for member in matches if member.base != base and not own_bases]
        if strangers:
            names = ", ".join(f"{member.ref} ({member.base})" for member in strangers)
            notices.append(describe_strangers(base, names))
        mine = [member for member in matches if member not in strangers]
        alike = [member for member in mine if not member.variant]
        otherwise |= {member.ref: member for member in mine if member.variant}
        members |= {member.ref: member for member in alike or mine}
    left = ", ".join(ref for ref in otherwise if ref not in members)
    by_name = ", ".join(
        f"{member.ref} ({member.data})" for member in members.values() if member.data_from == "name"
    )
    if not members:
        raise SpecError(
            f"None of the chosen models ({', '.join(patterns) or 'no model'}) "
            f"is a fine-tune of {base}; choose its fine-tunes, or another base."
        )
    notices += [said("variants", models=left)] if left else []
    notices += [said("named_data", models=by_name)] if by_name else []
    return Members(tuple(members.values()), tuple(notices))


def add_listed(
    base: str, patterns: Sequence[str], count: int, say: Callable[[str], None]
) -> tuple[str, ...]:
    """Add the first `count` fine-tunes that the Hub lists, in place of the included ones. Raises
    ModelError if the Hub does not answer."""
    named = [pattern for pattern in patterns if pattern != EVERY]
    most = min(max(LISTED, PER_MODEL * count), hub_listing.MOST_LISTED)
    listed = hub_listing.choose_listed(
        hub_listing.list_fine_tunes(parse_ref(base).name, most, say=say), first=count
    )
    return (*named, *(model.ref for model in listed if model.ref not in named))


def earlier_steps(members: Sequence[Member], labels: Sequence[str]) -> list[int]:
    """List the places of labelled checkpoints of a run whose later ones are there: they are nearest
    to each other whatever the label, so that only the last of a run is scored."""
    labelled = {place: each.ref for place, each in enumerate(members) if labels[place]}
    last = {run_of(ref): ref for ref in in_order_of_training(labelled.values())}
    return [place for place, ref in labelled.items() if last[run_of(ref)] != ref]


def fine_tunes() -> list[dict[str, Any]]:
    """Entries of the included fine-tunes, without intermediate checkpoints of pretraining."""
    return [
        entry for entry in read_manifest() if entry.get("base") and entry.get("task") != PRETRAINING
    ]


def _expand(pattern: str, base: str) -> list[Member]:
    if not is_pattern(pattern):
        return [_describe(str(parse_ref(pattern)), base)]
    if pattern.startswith("zoo:"):
        tuned = [_from_manifest(entry) for entry in fine_tunes()]
        adapters = [_from_manifest(entry) for entry in read_adapters()]
        # adapters are named on purpose: what stands for fine-tunes does not stand for them too
        matches = [member for member in tuned if fnmatchcase(member.ref, pattern)] or [
            member for member in adapters if fnmatchcase(member.ref, pattern)
        ]
        if not matches:
            have = ", ".join(member.ref for member in tuned[:6]) or "none"
            raise SpecError(
                f"No included fine-tune matches {pattern!r}; "
                f"choose from {have}{' ...' * (len(tuned) > 6)}."
            )
        return matches
    return [
        _describe(ref, base) if ref != base else Member(base, base)
        for ref in matching_refs(pattern)
    ]


def _describe(ref: str, base: str) -> Member:
    """Describe one model by the manifest, the presets, its card or its folder's name."""
    parsed = parse_ref(ref)
    if ref == base:
        raise SpecError(f"{ref} is the base itself; choose its fine-tunes.")
    if parsed.kind == "zoo":
        entry = included_entries().get(ref)
        if entry is None:
            return Member(ref, base, task=_guess(parsed.name), guessed=True)
        if not entry.get("base") or entry.get("task") == PRETRAINING:
            raise SpecError(
                f"{ref} was pretrained, not fine-tuned, so it has no update to compare; "
                f"choose fine-tunes of {base}."
            )
        return _from_manifest(entry)
    if parsed.kind == "path":
        return Member(ref, base, task=_guess(Path(parsed.name).name), guessed=True)
    preset = next((preset for preset in PRESETS if preset.ref == ref and preset.data), None)
    if preset is not None:
        return Member(ref, base, data=preset.data)
    try:
        on_hub = hub_listing.look_up(parsed.name, parsed.revision)
    except ModelError:
        return Member(ref, base)  # identifying it will say why; the other models go on
    data, where = hub_listing.label_of(parsed.name, on_hub.data)
    return Member(ref, base, data=data, data_from=where)


def _from_manifest(entry: dict[str, Any]) -> Member:
    settings, dose = entry.get("settings") or {}, float(entry.get("dose") or 1.0)
    documented = "learning_rate" in settings and entry.get("steps")
    return Member(
        ref=str(entry["ref"]),
        base=str(entry.get("base") or ""),
        task=str(entry.get("task") or ""),
        data=str(entry.get("data") or ""),
        dose=dose,
        frozen=int(entry.get("frozen") or 0),
        recipe=f"rate {settings['learning_rate'] * dose:g}, {entry['steps']:,} steps"
        if documented
        else "",
    )


def _guess(name: str) -> str:
    """Guess the task from a folder's name: nli-2 -> nli; "" from checkpoint-300 and run1."""
    return "" if UNTELLING.fullmatch(name) else NUMBERED.sub("", name)


def labels_of(members: Sequence[Member], by: str, table: Mapping[str, str]) -> list[str]:
    """List each model's label; a task guessed from a name is none if no two models share it."""
    labels = [member.label(by, table) for member in members]
    guesses = by in ("task", "data")
    return [
        "" if guesses and member.guessed and labels.count(label) == 1 else label
        for member, label in zip(members, labels, strict=True)
    ]


def named_members(
    base: str, patterns: Sequence[str], own_bases: bool = False
) -> tuple[Member, ...]:
    """List the fine-tunes that are named, without asking the Hub what it knows of them. Raises
    SpecError if a pattern matches nothing."""
    named = [
        pattern for pattern in patterns if pattern.startswith("hub:") and not is_pattern(pattern)
    ]
    unnamed = [pattern for pattern in patterns if pattern not in named]
    members: dict[str, Member] = {}
    if unnamed:
        with suppress(ModelError):
            tuned = find_members(base, unnamed, own_bases).members
            members = {member.ref: member for member in tuned}
    return (*members.values(), *(Member(ref, base, ref) for ref in named if ref not in members))
