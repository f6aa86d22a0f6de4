"""What a session may upload: files no larger than the mode allows, and two of that size in sum.

A widget's own limit binds the browser alone: whoever writes to the server's address of uploads is bound by
`server.maxUploadSize`, and by nothing in number. What a session uploads beyond its share takes the place of what it
uploaded first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamlit import config, runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from core.limits import MEGABYTE, current_limits

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFileRec

OPTION = "server.maxUploadSize"  # megabytes; the server reads it at each upload
LARGEST_HELD = 2  # files of the largest size that a session may hold
MOST_FILES = 16  # of any size: an empty file takes room too


class BoundedUploads(MemoryUploadedFileManager):
    """Streamlit's files of all sessions, with a bound for each session."""

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """Keep a file; the oldest of its session go where there are too many.

        A session that ended while its file was on the way would leave it behind: nobody removes it any more.
        """
        if not runtime.get_instance().is_active_session(session_id):
            return
        super().add_file(session_id, file)
        most = LARGEST_HELD * current_limits().max_upload_bytes
        held = list(self.file_storage[session_id].values())
        while len(held) > MOST_FILES or sum(len(kept.data) for kept in held) > most:
            self.remove_file(session_id, held.pop(0).file_id)


def limit_uploads() -> None:
    """Have the server take what the mode allows; call it in every run, before the widgets are drawn."""
    config.set_option(OPTION, current_limits().max_upload_bytes // MEGABYTE)
    if runtime.exists():  # not in a test without a server
        uploads = runtime.get_instance().uploaded_file_mgr
        if type(uploads) is MemoryUploadedFileManager:
            uploads.__class__ = BoundedUploads  # the server's routes hold this very object
