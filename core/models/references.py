"""One string names a model everywhere: in the box, on the hub, in a folder, or drawn afresh as a control.

zoo:seed-0 · hub:bert-base-uncased · hub:organisation/name@revision · path:/some/folder · random:<any of these>
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from core.errors import ModelError
from core.limits import current_limits

_NAMES = {
    "zoo": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*"),
    "hub": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)?"),
}
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
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
    if text.startswith("random:"):
        inner = parse_ref(text.removeprefix("random:"))
        if inner.random:
            raise ModelError(f"{text!r} draws weights afresh twice: write random: once.")
        return replace(inner, random=True)
    kind, colon, rest = text.partition(":")
    if not colon or kind not in ("zoo", "hub", "path") or not rest.strip():
        raise ModelError(f"{text!r} is not a model reference: {_FORMS}.")
    if kind == "path":
        if current_limits().shared:
            raise ModelError("Folders on this computer (path:) are off on a shared instance: use zoo: or hub:.")
        return ModelRef("path", str(Path(rest.strip()).expanduser().resolve()))
    name, revision = rest, None
    if kind == "hub" and "@" in rest:
        name, revision = rest.split("@", 1)
    safe_revision = revision is None or (_REVISION.fullmatch(revision) and ".." not in revision)
    if not _NAMES[kind].fullmatch(name) or ".." in name or not safe_revision:
        raise ModelError(f"{text!r} is not a model reference: {_FORMS}.")
    return ModelRef(kind, name, revision)
