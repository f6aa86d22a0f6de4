"""One string names a model everywhere: in the box, on the hub, in a folder, or drawn afresh as a control.

zoo:seed-0 · hub:bert-base-uncased · hub:organisation/name@revision · path:/some/folder · random:<any of these>
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from core.errors import ModelError
from core.limits import current_limits

_NAMES = {
    "zoo": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*"),
    "hub": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)?"),
}
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
PATTERN = re.compile(r"[*?\[]")  # what makes a pattern of a reference: zoo:parse-*, path:/runs/*
LONGEST_NAME = 200  # characters of a name in the box or on the hub, and of a revision
LONGEST_PATH = 4_000  # characters
_SHOWN = 100  # characters of something refused that a message repeats
_FORMS = (
    "write zoo:seed-0, hub:bert-base-uncased, hub:organisation/name@revision, path:/some/folder or random:zoo:seed-0"
)


@dataclass(frozen=True)
class ModelRef:
    """A model reference, taken apart; `str()` puts it together again.

    Attributes:
        kind: "zoo", "hub" or "path".
        name: Name in the box, on the hub, or the absolute folder.
        revision: Branch, tag or commit of a hub model; None for its main branch.
        random: Whether its weights are drawn afresh.
    """

    kind: str
    name: str
    revision: str | None = None
    random: bool = False

    def __str__(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{'random:' if self.random else ''}{self.kind}:{self.name}{revision}"


def parse_ref(text: str | ModelRef) -> ModelRef:
    """The reference that a string names.

    Raises:
        ModelError: If it names nothing, or a folder on a shared instance.
    """
    if isinstance(text, ModelRef):
        return text
    text = text.strip()
    random = text.startswith("random:")
    named = text.removeprefix("random:").strip()
    if random and named.startswith("random:"):
        raise ModelError(f"{_shown(text)} draws weights afresh twice: write random: once.")
    kind, colon, rest = named.partition(":")
    if not colon or kind not in ("zoo", "hub", "path") or not rest.strip():
        raise ModelError(f"{_shown(text)} is not a model reference: {_FORMS}.")
    if kind == "path":
        return ModelRef("path", _folder(rest.strip()), random=random)
    name, at, revision = rest.partition("@") if kind == "hub" else (rest, "", "")
    safe = bool(_REVISION.fullmatch(revision)) if at else True
    if not _NAMES[kind].fullmatch(name) or not safe or ".." in rest or len(rest) > LONGEST_NAME:
        raise ModelError(f"{_shown(text)} is not a model reference: {_FORMS}.")
    return ModelRef(kind, name, revision or None, random)


def _folder(path: str) -> str:
    """The absolute folder that a path names; whether it is there is found out later."""
    if current_limits().shared:
        raise ModelError("Folders on this computer (path:) are off on a shared instance: use zoo: or hub:.")
    try:
        if len(path) > LONGEST_PATH:
            raise ValueError(f"longer than {LONGEST_PATH:,} characters")
        return str(Path(path).expanduser().resolve())
    except (OSError, RuntimeError, ValueError) as error:  # no such user, a circle of links, a zero byte
        reason = str(error)[:_SHOWN]
        raise ModelError(f"{_shown(path)} names no folder ({reason}): check the path.") from error


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
