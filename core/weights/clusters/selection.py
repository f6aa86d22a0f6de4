"""The study's first stage: which models are meant, what each is known by, and the labels of a table.

The hub may have to answer and folders to be hashed, so these are tasks: they show progress and can be cancelled. They
always run, because what a name stands for can change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import SpecError, TaskError
from core.limits import current_limits
from core.models.weights.sources import identify_all
from core.runs.runner import span, tick
from core.runs.tasks import pure
from core.weights.clusters.members import Member, add_listed, find_members, read_label_table
from core.weights.clusters.spec import UPLOAD


@dataclass(frozen=True)
class Selection:
    """The models of a study.

    Attributes:
        members: Its fine-tunes that could be identified, and their bases too.
        identities: What the weights of these are known by.
        notices: What was left out.
        failures: The reason by fine-tune, of those that could not be identified, or whose base could not.
    """

    members: tuple[Member, ...]
    identities: Mapping[str, str]
    notices: tuple[str, ...]
    failures: Mapping[str, str]


@dataclass(frozen=True)
class Labels:
    """Label by model, from a table."""

    by_model: Mapping[str, str]


@pure("weights.models")
def find_models(base: str, patterns: tuple[str, ...], own_bases: bool, tree: int) -> Selection:
    """The models that references and patterns stand for now.

    Args:
        base: Reference of the base.
        patterns: References, or patterns of such.
        own_bases: Whether a model of another base takes part, compared with its own.
        tree: How many fine-tunes of the base to take from the hub's list.

    Raises:
        SpecError: If nothing is found.
        ModelError: If something is no reference, or the hub cannot be asked for its list.
        TaskError: If no model can be identified.
    """
    tick(0.0, "the hub's list" if tree else "")
    lacks: list[str] = []
    with span(0.1, 0.3):
        named = find_members(base, add_listed(base, patterns, tree, lacks.append) if tree else patterns, own_bases)
    with span(0.3, 1.0):
        identities, reasons = identify_all(ref for member in named.members for ref in (member.base, member.ref))
    why = {member.ref: reasons.get(member.base) or reasons.get(member.ref) for member in named.members}
    failures = {ref: f"{ref} failed: {reason}" for ref, reason in why.items() if reason}
    members = tuple(member for member in named.members if member.ref not in failures)
    if not members:
        raise TaskError(f"No model could be compared. {next(iter(failures.values()))}")
    return Selection(members, identities, (*lacks, *named.notices), failures)


@pure("weights.labels")
def read_labels(ref: str, column: str, given: bytes | None = None) -> Labels:
    """Labels from a column of a table.

    Args:
        ref: Path of the table, or the name of one that came with the request.
        column: Its column; the first without it.
        given: The table itself, where it came with the request.

    Raises:
        SpecError: If there is no such table or column, or a shared instance is asked for a file of its own.
    """
    if given is None:
        given = _read_file(ref)
    table = read_label_table(given)
    name = ref.removeprefix(UPLOAD)
    chosen = column or next(iter(table))
    if chosen not in table:
        raise SpecError(f"{name} has no column {chosen!r}; it has {', '.join(table)}.")
    return Labels(table[chosen])


def _read_file(ref: str) -> bytes:
    if ref.startswith(UPLOAD):
        raise SpecError(f"The label table {ref.removeprefix(UPLOAD)} is no longer there; upload it again.")
    if current_limits().shared:
        raise SpecError("Files of this computer are off on a shared instance; upload the label table.")
    try:
        return Path(ref).expanduser().read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise SpecError(f"{ref} cannot be read ({reason}).") from error
