"""References: one string names an included model, a Hub model, a folder or a random control.

zoo:seed-0 · hub:bert-base-uncased · hub:organisation/name@revision · path:/some/folder ·
random:<any of these>
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
WILDCARDS = re.compile(r"[*?\[]")  # of a pattern: zoo:parse-*, path:/runs/*, hub:NAME@step*
SURROGATE = re.compile("[\ud800-\udfff]")  # Python's sign for a byte of a name that is not UTF-8
LONGEST_NAME = 200  # characters of a model's name with its revision
LONGEST_PATH = 4_000  # characters
_SHOWN = 100  # characters of a refused text that a message repeats
_FORMS = (
    "write zoo:seed-0, hub:bert-base-uncased, hub:organisation/name@revision, "
    "path:/some/folder or random:zoo:seed-0"
)


@dataclass(frozen=True)
class ModelRef:
    """The parts of a model reference; `str()` joins them.

    Attributes:
        kind: "zoo", "hub" or "path".
        name: Name of an included or Hub model, or the absolute folder.
        revision: Branch, tag or commit of a Hub model; None for its main branch.
        random: Whether its weights are random.
    """

    kind: str
    name: str
    revision: str | None = None
    random: bool = False

    def __str__(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{'random:' if self.random else ''}{self.kind}:{self.name}{revision}"


def parse_ref(text: str | ModelRef) -> ModelRef:
    """Parse a model reference.

    Raises:
        ModelError: If the text is not a reference, or names a folder on a shared instance.
    """
    if isinstance(text, ModelRef):
        return text
    text = text.strip()
    random = text.startswith("random:")
    named = text.removeprefix("random:").strip()
    if random and named.startswith("random:"):
        raise ModelError(f"{_shown(text)} asks for random weights twice: write random: once.")
    kind, colon, rest = named.partition(":")
    if not colon or kind not in ("zoo", "hub", "path") or not rest.strip():
        plain = bool(named) and not colon and named.isprintable() and len(named) <= _SHOWN
        hint = f" If it is a folder, write path:{named}." if plain else ""
        raise ModelError(f"{_shown(text)} is not a model reference: {_FORMS}.{hint}")
    if kind == "path":
        return ModelRef("path", _folder(rest.strip()), random=random)
    name, at, revision = rest.partition("@") if kind == "hub" else (rest, "", "")
    safe = bool(_REVISION.fullmatch(revision)) if at else True
    if not _NAMES[kind].fullmatch(name) or not safe or ".." in rest or len(rest) > LONGEST_NAME:
        raise ModelError(f"{_shown(text)} is not a model reference: {_FORMS}.")
    return ModelRef(kind, name, revision or None, random)


def is_pattern(text: str) -> bool:
    """Whether a text stands for the references that it matches: it has a wildcard, and is not the
    path of something that exists, such as path:runs/run[1]."""
    text = text.strip()
    if not WILDCARDS.search(text):
        return False
    kind, _, path = text.removeprefix("random:").strip().partition(":")
    if kind != "path" or current_limits().shared:
        return True
    try:
        return not Path(path.strip()).expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # a path that no file system accepts
        return True


def is_of_revisions(text: str) -> bool:
    """Whether a text is a pattern of revisions of one Hub model, such as hub:NAME@step*."""
    name, at, revision = text.strip().partition("@")
    is_model = name.startswith("hub:") and not WILDCARDS.search(name)
    return is_model and bool(at) and WILDCARDS.search(revision) is not None


def _folder(path: str) -> str:
    """Make a path absolute; whether the folder exists is checked later."""
    if current_limits().shared:
        raise ModelError(
            "A shared instance reads no folders of its computer (path:): use zoo: or hub: models."
        )
    try:
        if len(path) > LONGEST_PATH:
            raise ValueError(f"longer than {LONGEST_PATH:,} characters")
        folder = str(Path(path).expanduser().resolve())
        if SURROGATE.search(folder):
            raise ValueError("not UTF-8, in which results name their models")
        return folder
    except (OSError, RuntimeError, ValueError) as error:  # no user, circular links, a zero byte
        reason = str(error)[:_SHOWN]
        raise ModelError(f"{_shown(path)} is not a valid path ({reason}): check it.") from error


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
