"""Which models a study compares, and what is known of each: its base, its task, its data set, its label.

`zoo:*-*` means every fine-tune in the box that started from the base and was trained as the others were. A model that
started elsewhere is left out with a notice, or paired with its own base when asked: another base's directions are not
this one's. One that was trained otherwise (faster, slower, with frozen layers) is left out too, unless it is named or
a pattern names only such: it is there to be held against the others, not to be counted among them.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from core.errors import ModelError, SpecError
from core.models import parse_ref, zoo_models
from core.models.hub import client as hub
from core.models.hub import listing as hub_listing
from core.models.patterns import matching_refs
from core.models.references import PATTERN
from core.runs.runner import tick

EVERY = "zoo:*-*"
MOST_MODELS = 200
LISTED = 100  # fine-tunes of a base that the hub is asked for at least
PER_MODEL = 10  # of them for each model wanted: many are gated, or have pickled weights
MODEL_COLUMNS = ("model", "ref", "name")
MOST_ROWS = 10_000
PRETRAINING = "masked-lm"
NUMBERED = re.compile(r"[-_]\d+$")


@dataclass(frozen=True)
class Member:
    """One fine-tune of a study.

    Attributes:
        ref: Its reference.
        base: Reference of the model that it started from.
        task: What it was fine-tuned for; "" where nobody says.
        data: Data set; "" where nobody says.
        data_from: Where that was read, if not in the box: "card" or "name".
        dose: Its learning rate relative to that of the box's other runs; 1 where nobody says.
        frozen: Lowest layers that did not train, the embeddings with them.
        recipe: Learning rate and steps, in words; "" where nobody says.
    """

    ref: str
    base: str
    task: str = ""
    data: str = ""
    dose: float = 1.0
    frozen: int = 0
    recipe: str = ""
    data_from: str = ""

    @property
    def variant(self) -> bool:
        """Whether it was trained otherwise than the box's runs of its task."""
        return self.dose != 1.0 or self.frozen > 0

    def label(self, by: str, table: Mapping[str, str]) -> str:
        """Its label by "task", "data", "base" or a column of an uploaded table; "" where there is none."""
        if by == "table":
            return table.get(self.ref, table.get(self.ref.split(":", 1)[-1], ""))
        return {"task": self.task or self.data, "data": self.data or self.task, "base": self.base}[by]


@dataclass(frozen=True)
class Members:
    """The models of a study, and what was left out."""

    members: tuple[Member, ...]
    notices: tuple[str, ...]


def find_members(base: str, patterns: Sequence[str], own_bases: bool = False) -> Members:
    """The models that references and patterns name, each once, in the order of the box.

    Args:
        base: Reference of the base.
        patterns: References, or patterns with * and ? for models of the box or folders ("path:/runs/*").
        own_bases: Whether a model of another base takes part, compared with its own.

    Raises:
        SpecError: If a pattern matches nothing or nothing is left.
        ModelError: If something is no reference.
    """
    base = str(parse_ref(base))
    members: dict[str, Member] = {}
    otherwise: dict[str, Member] = {}
    notices: list[str] = []
    for place, pattern in enumerate(patterns):
        tick(place / len(patterns), pattern)
        matches = _expand(pattern.strip(), base)
        strangers = [member for member in matches if member.base != base and not own_bases]
        if strangers:
            names = ", ".join(f"{member.ref} ({member.base})" for member in strangers)
            notices.append(f"Left out, because they started from another base than {base}: {names}.")
        mine = [member for member in matches if member not in strangers]
        alike = [member for member in mine if not member.variant]
        otherwise |= {member.ref: member for member in mine if member.variant}
        members |= {member.ref: member for member in alike or mine}
    left = ", ".join(ref for ref in otherwise if ref not in members)
    if left:
        notices.append(f"Left out, because they were trained otherwise; name them to see where they lie: {left}.")
    told = ", ".join(f"{member.ref} ({member.data})" for member in members.values() if member.data_from == "name")
    if told:
        notices.append(f"Their cards name no data set, so it was read from their names: {told}.")
    if not members:
        raise SpecError(f"No fine-tune of {base} is among {', '.join(patterns) or 'nothing'}; name others.")
    return Members(tuple(members.values()), tuple(notices))


def add_listed(
    base: str, patterns: Sequence[str], count: int, say: Callable[[str], None] = lambda text: None
) -> tuple[str, ...]:
    """The models named, and the first `count` fine-tunes that the hub lists of the base, in place of the box's.

    Args:
        base, patterns: As for `find_members`.
        count: How many of the hub's.
        say: Told what the hub's list lacks.

    Raises:
        ModelError: If the hub cannot be asked.
    """
    named = [pattern for pattern in patterns if pattern != EVERY]
    most = min(max(LISTED, PER_MODEL * count), hub_listing.MOST_LISTED)
    listed = hub_listing.choose_listed(hub_listing.list_fine_tunes(parse_ref(base).name, most, say=say), first=count)
    return (*named, *(model.ref for model in listed if model.ref not in named))


def fine_tunes() -> list[dict[str, Any]]:
    """The box's entries that were fine-tuned from another; a checkpoint along a pretraining run is none."""
    return [entry for entry in zoo_models() if entry.get("base") and entry.get("task") != PRETRAINING]


def read_label_table(content: bytes) -> dict[str, dict[str, str]]:
    """Labels by column and model, from an uploaded table: CSV or TSV with a header and a column named `model`.

    Raises:
        SpecError: If it cannot be read so; the sentence says why.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError("The label table is not UTF-8 text; save it as CSV in UTF-8.") from error
    lines = io.StringIO(text, newline=None)  # line ends of every system, a bare CR too, become \n
    delimiter = "\t" if "\t" in lines.readline() else ","
    lines.seek(0)
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        rows = [row for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise SpecError(f"Line {reader.line_num} of the label table cannot be read: {error}.") from error
    if len(rows) < 2 or len(rows[0]) < 2:
        raise SpecError("The label table needs a header, a column named model, one label column or more, and rows.")
    if len(rows) > MOST_ROWS:
        raise SpecError(f"The label table has {len(rows):,} rows; {MOST_ROWS:,} are allowed.")
    names = [cell.strip() for cell in rows[0]]
    place = next((index for index, name in enumerate(names) if name.lower() in MODEL_COLUMNS), None)
    if place is None:
        raise SpecError(f"The label table has no column named model; it has {', '.join(names)}.")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            raise SpecError(f"Line {number} of the label table has {len(row)} cells, its header {len(names)}.")
    columns = [index for index, name in enumerate(names) if index != place and name]
    if not columns:
        raise SpecError("No label column of the label table has a name; name one in the header.")
    return {names[index]: {row[place].strip(): row[index].strip() for row in rows[1:]} for index in columns}


def _expand(pattern: str, base: str) -> list[Member]:
    if not PATTERN.search(pattern):
        return [_describe(str(parse_ref(pattern)), base)]
    if pattern.startswith("zoo:"):
        tuned = [_from_manifest(entry) for entry in fine_tunes()]
        matches = [member for member in tuned if fnmatchcase(member.ref, pattern)]
        if not matches:
            have = ", ".join(member.ref for member in tuned[:6]) or "none"
            raise SpecError(f"No fine-tune in the box matches {pattern!r}; it has {have}{' ...' * (len(tuned) > 6)}.")
        return matches
    return [_describe(ref, base) for ref in matching_refs(pattern, adapters=True)]


def _describe(ref: str, base: str) -> Member:
    """A model named outright: what the manifest, the presets, its card or its folder's name say of it."""
    parsed = parse_ref(ref)
    if ref == base:
        raise SpecError(f"{ref} is the base itself; name its fine-tunes.")
    if parsed.kind == "zoo":
        entry = next((entry for entry in zoo_models() if entry.get("ref") == ref), None)
        if entry is None:
            return Member(ref, base, task=_guess(parsed.name))
        if not entry.get("base") or entry.get("task") == PRETRAINING:
            raise SpecError(f"{ref} was pretrained, not fine-tuned: it has no delta. Name fine-tunes of {base}.")
        return replace(_from_manifest(entry), base=str(entry.get("base") or base))
    if parsed.kind == "path":
        return Member(ref, base, task=_guess(Path(parsed.name).name))
    preset = next((preset for preset in hub.PRESETS if preset.ref == ref and preset.data), None)
    if preset is not None:
        return Member(ref, base, data=preset.data)
    try:
        on_hub = hub_listing.look_up(parsed.name, parsed.revision)
    except ModelError:
        return Member(ref, base)  # who identifies it says why; the others go on
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
        recipe=f"rate {settings['learning_rate'] * dose:g}, {entry['steps']:,} steps" if documented else "",
    )


def _guess(name: str) -> str:
    """A task from a folder's name without its number: nli-2 -> nli. Folders say nothing else."""
    return NUMBERED.sub("", name)
