"""Uploads: files no larger than the mode allows, twice that size per session, and none lost.

A widget's limit applies in the browser only: a client that posts to the upload endpoint is limited
by `server.maxUploadSize`, and not in number. Beyond its share, a session's new file replaces its
oldest.

A browser tells the server of a chosen file at once, because it asks for an address to send it to;
the widget's value follows when the file has arrived, and never if the widget's popover was closed
meanwhile. So the server notes which file was chosen last in which uploader, and a form that is
submitted without it waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit import config, runtime
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.limits import MEGABYTE, current_limits
from ui.frame.text import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamlit.runtime.uploaded_file_manager import UploadedFileRec, UploadFileUrlInfo

    from ui.frame.links import Address

OPTION = "server.maxUploadSize"  # megabytes; the server reads it at each upload
LARGEST_HELD = 2  # files of the largest size per session
MOST_FILES = 16  # per session, of any size: an empty file takes memory, too
LONGEST_NAME = 255  # bytes of a file's name on any disk: a longer one comes from no browser
EVERY = 0.5  # seconds between two looks whether a file has arrived
WIDGET = "upload"  # of the uploader, among a page's widget keys
SUBMITTED = " submitted"  # session state, after the widget's key: see `submit_upload`


@dataclass(frozen=True)
class Chosen:
    """A file that was chosen in a browser and may still be on its way.

    Attributes:
        file_id: Streamlit's.
        name: The file's.
    """

    file_id: str
    name: str


class BoundedUploads(MemoryUploadedFileManager):
    """Streamlit's uploaded files, with a limit per session and a note of each uploader's last file.

    Attributes:
        shown: By session, the widget key of the uploader on its page.
        chosen: By session and uploader, the file that was chosen last.
    """

    shown: dict[str, str]
    chosen: dict[str, dict[str, Chosen]]

    def get_upload_urls(
        self, session_id: str, file_names: Sequence[str]
    ) -> list[UploadFileUrlInfo]:
        """Return the addresses to send files to, as many as are kept, and note the last file as
        chosen in the page's uploader, which asks for one at a time."""
        urls = super().get_upload_urls(session_id, file_names[-MOST_FILES:])
        uploader = self.shown.get(session_id)
        if urls and uploader is not None and len(file_names[-1]) <= LONGEST_NAME:
            last = Chosen(urls[-1].file_id, file_names[-1])
            self.chosen.setdefault(session_id, {})[uploader] = last
        return urls

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """Keep a file, and remove the session's oldest files beyond its limit. One that arrives
        after its session has ended is refused: nothing would ever remove it."""
        if not runtime.get_instance().is_active_session(session_id):
            return
        super().add_file(session_id, file)
        most = LARGEST_HELD * current_limits().max_upload_bytes
        held = list(self.file_storage[session_id].values())
        while len(held) > MOST_FILES or sum(len(kept.data) for kept in held) > most:
            self.remove_file(session_id, held.pop(0).file_id)

    def remove_file(self, session_id: str, file_id: str) -> None:
        """Remove a file, which was then not chosen either."""
        super().remove_file(session_id, file_id)
        chosen = self.chosen.get(session_id, {})
        for uploader, last in list(chosen.items()):
            if last.file_id == file_id:
                del chosen[uploader]

    def remove_session_files(self, session_id: str) -> None:
        """Remove all that is kept of a session."""
        super().remove_session_files(session_id)
        self.shown.pop(session_id, None)
        self.chosen.pop(session_id, None)


def limit_uploads() -> None:
    """Set the server's upload limit; call it in every run, before the widgets are drawn."""
    config.set_option(OPTION, current_limits().max_upload_bytes // MEGABYTE)
    if runtime.exists():  # not in a test without a server
        uploads = runtime.get_instance().uploaded_file_mgr
        if type(uploads) is MemoryUploadedFileManager:
            uploads.__class__ = BoundedUploads  # the server's routes refer to this object
            vars(uploads).update(shown={}, chosen={})


def uploader(address: Address, label: str, **layout: Any) -> UploadedFile | None:
    """Draw the uploader of a page's form, one at most; return what `uploaded` does."""
    held, session = _here()
    if held is not None and runtime.get_instance().is_active_session(session):
        held.shown[session] = address.key(WIDGET)
    st.file_uploader(label, key=address.key(WIDGET), **layout)
    return uploaded(address)


def submit_upload(address: Address) -> None:
    """Note the file that the page's form is submitted with, if its widget does not have it."""
    key = address.key(WIDGET)
    last, file = _last_chosen(key), st.session_state.get(key)
    if file is not None and last is not None and file.file_id == last.file_id:
        _forget(key)
        last = None
    st.session_state[f"{key}{SUBMITTED}"] = last


def uploaded(address: Address) -> UploadedFile | None:
    """Return the file that the page's form was submitted with; None if there is none (yet)."""
    late = _late(key := address.key(WIDGET))
    if late is None:
        file: UploadedFile | None = st.session_state.get(key)
        return file
    record = _arrived(late)
    return UploadedFile(record, FileURLs()) if record is not None else None


def awaits_upload(address: Address) -> bool:
    """Whether the file that the page's form was submitted with has not arrived, which is said; the
    page reruns when it has. No study runs on another text than the chosen one in silence."""
    late = _late(key := address.key(WIDGET))
    if late is None or _arrived(late) is not None:
        return False
    _watch(key, late)
    return True


@st.fragment(run_every=EVERY)
def _watch(key: str, late: Chosen) -> None:
    if late != _late(key) or _arrived(late) is not None:
        st.rerun()
    st.info(
        f"The upload of {quote(late.name)} is not complete yet. The study runs as soon as it is; "
        "if that takes too long, choose the file again.",
        icon=":material/hourglass_top:",
    )
    if st.button("Run without this file", key=f"{key} without"):
        _forget(key)
        st.rerun()


def _late(key: str) -> Chosen | None:
    """Return the file that a form was submitted with before the widget had it."""
    submitted: Chosen | None = st.session_state.get(f"{key}{SUBMITTED}")
    return submitted if submitted is not None and submitted == _last_chosen(key) else None


def _last_chosen(key: str) -> Chosen | None:
    """Return the file chosen last in an uploader that the widget did not have so far."""
    held, session = _here()
    return held.chosen.get(session, {}).get(key) if held is not None else None


def _forget(key: str) -> None:
    """Forget the file chosen last in an uploader."""
    held, session = _here()
    if held is not None:
        held.chosen.get(session, {}).pop(key, None)


def _arrived(chosen: Chosen) -> UploadedFileRec | None:
    """Return a chosen file if all of it is on the server."""
    held, session = _here()
    records = held.get_files(session, [chosen.file_id]) if held is not None else []
    return records[0] if records else None


def _here() -> tuple[BoundedUploads | None, str]:
    """Return the server's files and the session; None and "" without a server."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return None, ""
    held = runtime.get_instance().uploaded_file_mgr
    return (held, context.session_id) if isinstance(held, BoundedUploads) else (None, "")
