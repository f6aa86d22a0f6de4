"""Uploads: the server's limit is the mode's, and a session holds no more than its share."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit import config
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from core.limits import LOCAL, MEGABYTE, MODE, SHARED
from ui.frame import uploads
from ui.frame.links import Address
from ui.frame.uploads import (
    LARGEST_HELD,
    MOST_FILES,
    OPTION,
    WIDGET,
    BoundedUploads,
    awaits_upload,
    limit_uploads,
    submit_upload,
    uploaded,
    uploader,
)

PAGE = Address("page", [])
KEY = PAGE.key(WIDGET)


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


@pytest.fixture
def session(server: Server, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The state of the session "here", whose page shows an uploader."""
    state: dict[str, object] = {}
    monkeypatch.setattr(uploads.st, "session_state", state)
    monkeypatch.setattr(uploads.st, "file_uploader", lambda label, key, **layout: None)
    context = SimpleNamespace(session_id="here")
    monkeypatch.setattr(uploads, "get_script_run_ctx", lambda: context)
    limit_uploads()
    uploader(PAGE, "Upload")
    return state


def choose(server: Server, name: str) -> str:
    """Choose a file in the browser, which asks for an address to send it to; return its id."""
    urls = server.uploaded_file_mgr.get_upload_urls("here", [name])
    return urls[0].file_id


def arrive(server: Server, file_id: str, name: str) -> UploadedFile:
    record = UploadedFileRec(file_id, name, "text/plain", b"One sentence.")
    server.uploaded_file_mgr.add_file("here", record)
    return UploadedFile(record, FileURLs())


def read(address: Address = PAGE) -> str | None:
    """Submit the form; return the name of the file that the page then has."""
    submit_upload(address)
    file = uploaded(address)
    return file.name if file is not None else None


def test_a_form_has_the_file_that_its_widget_missed(
    server: Server, session: dict[str, Any]
) -> None:
    late = choose(server, "late.txt")
    assert read() is None
    arrive(server, late, "late.txt")
    assert read() == "late.txt"
    assert read(Address("other", [])) is None  # another page has an uploader of its own
    session[KEY] = arrive(server, choose(server, "next.txt"), "next.txt")
    assert read() == "next.txt"
    server.uploaded_file_mgr.get_upload_urls("here", ["x" * 1000])
    assert read() == "next.txt"


def test_one_message_asks_for_as_many_addresses_as_files_are_kept(
    server: Server, session: dict[str, Any]
) -> None:
    """Asking for 300,000 of them held a server for eight seconds and took 400 MB."""
    urls = server.uploaded_file_mgr.get_upload_urls("here", [""] * 300_000 + ["last.txt"])
    assert len(urls) == uploads.MOST_FILES
    arrive(server, urls[-1].file_id, "last.txt")
    assert read() == "last.txt"


def test_a_form_waits_for_the_file_it_was_submitted_with(
    server: Server, session: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(uploads, "_watch", lambda key, late: told.append(late.name))
    session[KEY] = arrive(server, choose(server, "first.txt"), "first.txt")
    assert read() == "first.txt"
    late = choose(server, "late.txt")
    assert uploaded(PAGE).name == "first.txt"  # chosen, but the form was not submitted
    assert not awaits_upload(PAGE)
    assert read() is None
    assert awaits_upload(PAGE)
    assert told == ["late.txt"]
    arrive(server, late, "late.txt")
    assert not awaits_upload(PAGE)
    server.uploaded_file_mgr.remove_file("here", late)  # the user took it back
    assert not awaits_upload(PAGE)
    assert read() == "first.txt"


def test_nothing_is_kept_of_a_session_that_ended(server: Server, session: dict[str, Any]) -> None:
    choose(server, "late.txt")
    held = server.uploaded_file_mgr
    assert isinstance(held, BoundedUploads)
    assert held.chosen
    held.remove_session_files("here")
    assert not held.chosen
    assert not held.shown
