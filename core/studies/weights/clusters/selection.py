"""The study's first stage: find the models, identify each, and read labels from a table.

The Hub may have to answer and folders have to be hashed, so these are tasks, which show progress
and can be cancelled. They always run, because what a name stands for can change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.errors import ModelError, SpecError
from core.limits import current_limits
from core.models.identity import Identity, describe_copies, find_copies, identify
from core.models.sizes import BYTES, names_adapter, size_of_adapter
from core.results.words import words_beside
from core.studies.notices import nothing_compared
from core.studies.task_kit import Size, pure, span, tick
from core.studies.weights.clusters.members import (
    EVERY,
    Member,
    add_listed,
    find_members,
    named_members,
)
from core.studies.weights.clusters.spec import UPLOAD
from core.studies.weights.label_tables import read_label_table

said = words_beside(__file__).sentence


@dataclass(frozen=True)
class Selection:
    """The models of a study.

    Attributes:
        members: Fine-tunes that could be identified together with their bases, without copies.
        identities: Identity of the weights by reference: a content hash, or the Hub's commit.
        notices: What was left out.
        failures: Reason by fine-tune that could not be identified, or whose base could not.
        contents: Weights, tokenizer and precision by reference, if the models are to be run.
    """

    members: tuple[Member, ...]
    identities: Mapping[str, str]
    notices: tuple[str, ...]
    failures: Mapping[str, str]
    contents: Mapping[str, str] = field(default_factory=dict)

    def fingerprints(self, members: Iterable[Member]) -> dict[str, str]:
        """Return the identities of members and their bases."""
        refs = dict.fromkeys(ref for member in members for ref in (member.base, member.ref))
        return {ref: self.identities[ref] for ref in refs}


def _expected(
    sizes: dict[str, Size],
    base: str,
    patterns: tuple[str, ...],
    own_bases: bool,
    tree: int,
    run: bool = False,
) -> Selection:
    """Return those that are named, and as many of the base's size as the Hub lists."""
    named = [pattern for pattern in patterns if not (tree and pattern == EVERY)]
    members = []
    for member in named_members(base, named, own_bases):
        with suppress(ModelError):
            start, ref = sizes[member.base], member.ref
            # an adapter is read by its factors here, not as the model that it makes
            sizes[ref] = size_of_adapter(ref, start) if names_adapter(ref) else sizes[ref]
            members.append(member)
    for number in range(tree):
        size = sizes[base]
        member = Member(f"hub:{number}", base, str(number))
        sizes[member.ref] = replace(size, download=BYTES * size.parameters)
        members.append(member)
    refs = {ref: ref for member in members for ref in (member.base, member.ref)}
    return Selection(tuple(members), refs, (), {}, refs if run else {})


@pure("weights.models", expect=_expected)
def find_models(
    base: str, patterns: tuple[str, ...], own_bases: bool, tree: int, run: bool = False
) -> Selection:
    """Find the models that references and patterns stand for now, and `tree` more from the Hub's
    list; those of the Hub are downloaded if they are to be run. Raises SpecError if nothing is
    found, TaskError if no model can be identified."""
    tick(0.0, "asking the Hub" if tree else "")
    lacks: list[str] = []
    with span(0.1, 0.3):
        named = find_members(
            base, add_listed(base, patterns, tree, lacks.append) if tree else patterns, own_bases
        )
    with span(0.3, 0.6 if run else 1.0):
        identities, reasons = _identify_all(
            (ref for member in named.members for ref in (member.base, member.ref)), run=False
        )
    contents: dict[str, Identity] = {}
    if run:
        with span(0.6, 1.0):
            contents, unread = _identify_all(identities, run=True)
        reasons |= {ref: f"Delta activations run every model. {why}" for ref, why in unread.items()}
    failures = {
        member.ref: reason
        for member in named.members
        if (reason := reasons.get(member.base) or reasons.get(member.ref))
    }
    usable = [member for member in named.members if member.ref not in failures]
    if not usable:
        raise nothing_compared(f"{ref} failed: {reason}" for ref, reason in failures.items())
    copies = find_copies(
        {
            member.ref: (identities[member.base].weights, identities[member.ref].weights)
            for member in usable
        }
    )
    members = tuple(member for member in usable if member.ref not in copies)
    notices = (*lacks, *named.notices, *describe_copies(copies))
    weights, ran = (
        {ref: identity.content for ref, identity in each.items()} for each in (identities, contents)
    )
    return Selection(members, weights, notices, failures, ran)


def _identify_all(refs: Iterable[str], run: bool) -> tuple[dict[str, Identity], dict[str, str]]:
    """Identify models by reference; return the reason for those that cannot be."""
    identities: dict[str, Identity] = {}
    reasons: dict[str, str] = {}
    distinct = list(dict.fromkeys(refs))
    for place, ref in enumerate(distinct):
        tick(place / len(distinct), ref)
        try:
            identities[ref] = identify(ref, run)
        except ModelError as error:
            reasons[ref] = str(error)
    return identities, reasons


class _Unread(dict[str, str]):
    """Labels of a table that was not read: every model has one."""

    def get(self, model: str, default: Any = None) -> Any:
        """Return a label."""
        return "unread"


@pure("weights.labels", expect=lambda sizes, ref, column, given: _Unread())
def read_labels(ref: str, column: str, given: bytes | None = None) -> dict[str, str]:
    """Read the label of each model from a column of a table, the first label column if "". Raises
    SpecError if the table or column does not exist, or a shared instance is given a path."""
    if given is None:
        given = _read_file(ref)
    table = read_label_table(given)
    name = ref.removeprefix(UPLOAD)
    column = column or next(iter(table))
    if column not in table:
        raise SpecError(f"{name} has no column {column!r}; choose from {', '.join(table)}.")
    return table[column]


def _read_file(ref: str) -> bytes:
    if ref.startswith(UPLOAD):
        raise SpecError(said("upload_is_gone", name=ref.removeprefix(UPLOAD)))
    if current_limits().shared:
        raise SpecError(said("shared_reads_no_files"))
    try:
        return Path(ref).expanduser().read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise SpecError(f"{ref} cannot be read ({reason}); check the path.") from error
