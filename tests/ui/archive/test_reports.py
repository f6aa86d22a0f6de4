"""A report that was kept is read as it was, by its key and nothing else."""

from __future__ import annotations

import pytest

from core.errors import DrawingError, NotStoredError
from core.runs.store import Store, default_store
from ui.archive import reports
from ui.archive.making import preview_of
from ui.archive.reports import address_of, keep_report, read_picture, read_report, serves_reports

PICTURE = b"\x89PNG\r\n\x1a\n\x00"
PAGE = "<!doctype html><p>Größe × 2 − 1</p>".encode()


def test_a_kept_report_is_read_again_under_the_hash_of_its_content() -> None:
    key = keep_report(PAGE)
    assert key == keep_report(PAGE)
    assert key != keep_report(PAGE + b" ")
    assert read_report(key) == PAGE
    assert address_of(key) == f"/r/{key}"


def test_a_report_keeps_a_picture_where_it_has_one() -> None:
    assert read_picture(keep_report(PAGE)) is None
    key = keep_report(PAGE + b"!", PICTURE)
    assert (read_report(key), read_picture(key)) == (PAGE + b"!", PICTURE)


def test_a_report_without_drawings_is_kept_without_a_picture() -> None:
    def fails() -> bytes:
        raise DrawingError("The engine does not run here.")

    assert preview_of(fails) == b""
    assert preview_of(lambda: PICTURE) == PICTURE


@pytest.mark.parametrize(
    "key", ["", "x", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64, "0" * 65]
)
def test_another_key_reads_nothing(key: str) -> None:
    keep_report(PAGE, PICTURE)
    assert read_report(key) is None
    assert read_picture(key) is None


def test_a_stored_value_that_is_no_report_is_not_read() -> None:
    key = "a" * 64
    for value in ({"headline": "secret"}, {reports.KIND: 3, reports.PICTURE: "x"}):
        default_store().put(key, value)
        assert default_store().get(key) is not None
        assert read_report(key) is None
        assert read_picture(key) is None


def test_a_store_that_keeps_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "put", lambda self, key, value: False)
    with pytest.raises(NotStoredError, match="Increase its size limit"):
        keep_report(PAGE)


def test_reports_are_offered_where_the_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(reports.SERVED, raising=False)
    assert not serves_reports()
    monkeypatch.setenv(reports.SERVED, "1")
    assert serves_reports()
