"""What distinguishes studies of one spec: the content of uploads and of models."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core.models.identity import content_at_hand
from core.runs.process.remembered import remembered
from ui.frame.links import Address
from ui.frame.shared import A_MOMENT, MOST
from ui.frame.text import plain
from ui.frame.uploads import uploaded, uploader

UPLOAD = "upload"
LONGEST_NAME = 24  # letters of a file's name on its button


@dataclass(frozen=True)
class Upload:
    """An uploaded file: its CorpusRef and its content."""

    ref: str
    content: bytes


def upload_of(address: Address) -> Upload | None:
    """Return the uploaded file if it is the text chosen on the page."""
    file = uploaded(address) if "corpus" in address.options else None
    if file is None or address["corpus"] != f"{UPLOAD}:{file.name}":
        return None
    return Upload(f"{UPLOAD}:{file.name}", file.getvalue())


def take_upload(address: Address) -> None:
    """Make a new upload the page's text, before any widget shows which text that is."""
    file = uploaded(address) if "corpus" in address.options else None
    seen = address.key("upload seen")
    if file is not None and st.session_state.get(seen) != file.file_id:
        st.session_state[seen] = file.file_id
        address.set("corpus", f"{UPLOAD}:{file.name}")


def upload_control(address: Address) -> None:
    """Draw the upload control, whose button shows the file's name."""
    file = uploaded(address)
    name = file.name if file is not None else "Upload"
    label = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 9]}…{name[-8:]}"
    with st.popover(plain(label), icon=":material/upload_file:", width="stretch"):
        uploader(
            address,
            "A .txt file with running text, or a .conllu file with words and dependency trees",
            type=["txt", "conllu", "gz"],
            help="The file is kept for this session only; "
            "its words and the results stay in the store.",
        )


def contents(*refs: str, texts: Mapping[str, bytes] | None = None) -> tuple[str, ...]:
    """Say what uploads and models are known by, as far as a page knows: see `content_at_hand`."""
    uploads = (hashlib.sha256(content).hexdigest() for content in (texts or {}).values())
    return (*uploads, *map(_content, refs))


_content = remembered(MOST, seconds=A_MOMENT)(content_at_hand)
