"""Limits on uploads: files no larger than the mode allows, and twice that size per session.

A widget's limit applies in the browser only: a client that posts to the upload endpoint is limited
by
`server.maxUploadSize`, and not in number. Beyond its share, a session's new file replaces its
oldest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamlit import config, runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from core.limits import MEGABYTE, current_limits

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFileRec

OPTION = "server.maxUploadSize"  # megabytes; the server reads it at each upload
LARGEST_HELD = 2  # files of the largest size per session
MOST_FILES = 16  # per session, of any size: an empty file takes memory, too


class BoundedUploads(MemoryUploadedFileManager):
    """Streamlit's uploaded files, with a limit per session."""

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """Keep a file, and remove the session's oldest files beyond its limit.

        A file that arrives after its session has ended is refused: nothing would ever remove it.
        """
        if not runtime.get_instance().is_active_session(session_id):
            return
        super().add_file(session_id, file)
        most = LARGEST_HELD * current_limits().max_upload_bytes
        held = list(self.file_storage[session_id].values())
        while len(held) > MOST_FILES or sum(len(kept.data) for kept in held) > most:
            self.remove_file(session_id, held.pop(0).file_id)


def limit_uploads() -> None:
    """Set the server's upload limit; call it in every run, before the widgets are drawn."""
    config.set_option(OPTION, current_limits().max_upload_bytes // MEGABYTE)
    if runtime.exists():  # not in a test without a server
        uploads = runtime.get_instance().uploaded_file_mgr
        if type(uploads) is MemoryUploadedFileManager:
            uploads.__class__ = BoundedUploads  # the server's routes refer to this object
