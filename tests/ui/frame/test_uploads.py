"""Uploads: the server's limit is the mode's, and a session holds no more than its share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit import config
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from core.limits import LOCAL, MEGABYTE, MODE, SHARED
from ui.frame import uploads
from ui.frame.uploads import LARGEST_HELD, MOST_FILES, OPTION, BoundedUploads, limit_uploads


class Server:
    """A runtime with the session "here" and one manager of files."""

    def __init__(self) -> None:
        self.uploaded_file_mgr = MemoryUploadedFileManager("/upload")

    def is_active_session(self, session_id: str) -> bool:
        return session_id == "here"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    running, before = Server(), config.get_option(OPTION)
    monkeypatch.setattr(uploads.runtime, "exists", lambda: True)
    monkeypatch.setattr(uploads.runtime, "get_instance", lambda: running)
    yield running
    config.set_option(OPTION, before)


def file(name: str, megabytes: float) -> UploadedFileRec:
    return UploadedFileRec(name, name, "text/plain", bytes(int(megabytes * MEGABYTE)))


def held(server: Server) -> dict[str, int]:
    storage = server.uploaded_file_mgr.file_storage.get("here", {})
    return {name: len(record.data) for name, record in storage.items()}


@pytest.mark.parametrize(("mode", "limits"), [("shared", SHARED), ("local", LOCAL)])
def test_the_servers_limit_is_the_modes(
    server: Server, monkeypatch: pytest.MonkeyPatch, mode: str, limits: object
) -> None:
    monkeypatch.setenv(MODE, mode)
    limit_uploads()
    assert config.get_option(OPTION) * MEGABYTE == limits.max_upload_bytes  # type: ignore[attr-defined]


def test_a_session_holds_no_more_than_its_share(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MODE, "shared")
    limit_uploads()
    limit_uploads()  # every run does
    for number in range(25):
        server.uploaded_file_mgr.add_file("here", file(str(number), 1.5))
    assert sum(held(server).values()) <= LARGEST_HELD * SHARED.max_upload_bytes
    assert list(held(server)) == ["23", "24"]  # the latest stay
    for number in range(10 * MOST_FILES):
        server.uploaded_file_mgr.add_file("here", file(f"empty {number}", 0))
    assert len(held(server)) == MOST_FILES


def test_a_session_that_ended_leaves_no_file_behind(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MODE, "shared")
    limit_uploads()
    assert isinstance(server.uploaded_file_mgr, BoundedUploads)
    server.uploaded_file_mgr.add_file("gone", file("late", 1))
    assert "gone" not in server.uploaded_file_mgr.file_storage
