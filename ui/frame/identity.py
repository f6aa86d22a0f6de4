"""What tells two studies of one spec apart: the file that somebody brought, what models' names stand for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import streamlit as st

from core.errors import PalimpsestError
from core.models import fingerprint, parse_ref
from core.models.hub.client import changes
from ui.frame.links import Address
from ui.frame.text import plain

UPLOAD = "upload"
LONGEST_NAME = 24  # letters of a file's name on its button


@dataclass(frozen=True)
class Upload:
    """A file that somebody brought: its CorpusRef and its content."""

    ref: str
    content: bytes

    @property
    def identity(self) -> str:
        """Tells two uploads of the same name apart."""
        return hashlib.sha256(self.content).hexdigest()


def upload_of(address: Address) -> Upload | None:
    """The file at hand, if it is the text that is chosen on the page."""
    file = st.session_state.get(address.key("upload"))
    if file is None or address["corpus"] != f"{UPLOAD}:{file.name}":
        return None
    return Upload(f"{UPLOAD}:{file.name}", file.getvalue())


def upload_control(address: Address) -> None:
    """The file control; a file that has just come becomes the text, and the button shows its name."""
    key, seen = address.key("upload"), address.key("upload seen")
    file = st.session_state.get(key)
    if file is not None and st.session_state.get(seen) != file.file_id:
        st.session_state[seen] = file.file_id
        address.set("corpus", f"{UPLOAD}:{file.name}")
    name = file.name if file is not None else "Upload"
    label = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 9]}…{name[-8:]}"
    with st.popover(plain(label), icon=":material/upload_file:", width="stretch"):
        st.file_uploader(
            "A .txt file of running text, or .conllu with words and trees.",
            type=["txt", "conllu", "gz"],
            key=key,
            help="The file itself is kept for this session only; its words and results are in the store.",
        )


def contents(*refs: str) -> tuple[str, ...]:
    """What the references stand for now, for a study's identity; how often it has changed for a hub model.

    The page never waits for the hub: the study asks what a model of the hub is.
    """
    marks = []
    for ref in refs:
        try:
            parsed = parse_ref(ref)
            marks.append(str(changes(parsed.name, parsed.revision)) if parsed.kind == "hub" else fingerprint(parsed))
        except PalimpsestError:
            marks.append("")  # the study itself says what is wrong with it
    return tuple(marks)
