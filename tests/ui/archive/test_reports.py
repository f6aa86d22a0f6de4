"""A report that was kept is read as it was, by its key and nothing else."""

from __future__ import annotations

import pytest

from core.errors import NotStoredError
from core.runs.store import Store, default_store
from ui.archive import reports
from ui.archive.reports import address_of, keep_report, read_report, serves_reports

PAGE = "<!doctype html><p>Größe × 2 − 1</p>".encode()


def test_a_kept_report_is_read_again_under_the_hash_of_its_content() -> None:
    key = keep_report(PAGE)
    assert key == keep_report(PAGE)
    assert key != keep_report(PAGE + b" ")
    assert read_report(key) == PAGE
    assert address_of(key) == f"/r/{key}"


@pytest.mark.parametrize(
    "key", ["", "x", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64, "0" * 65]
)
def test_another_key_reads_nothing(key: str) -> None:
    keep_report(PAGE)
    assert read_report(key) is None


def test_a_stored_value_that_is_no_report_is_not_read() -> None:
    key = "a" * 64
    for value in ({"headline": "secret"}, {reports.KIND: 3}):
        default_store().put(key, value)
        assert default_store().get(key) is not None
        assert read_report(key) is None


def test_a_store_that_keeps_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "put", lambda self, key, value: False)
    with pytest.raises(NotStoredError, match="Increase its size limit"):
        keep_report(PAGE)


def test_reports_are_offered_where_the_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(reports.SERVED, raising=False)
    assert not serves_reports()
    monkeypatch.setenv(reports.SERVED, "1")
    assert serves_reports()
