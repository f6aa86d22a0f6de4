"""The caps of shared mode, switched by the environment at call time."""

from __future__ import annotations

from dataclasses import fields

import pytest

from core.errors import ModelError
from core.limits import LOCAL, MODE, SHARED, current_limits, share_beyond_loopback


def test_local_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert current_limits() is LOCAL
    monkeypatch.setenv("PALIMPSEST_MODE", "local")
    assert current_limits() is LOCAL


@pytest.mark.parametrize(
    "value", ["shared", " Shared ", "share"]
)  # a slip of the pen opens nothing
def test_shared_is_read_on_each_call(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", value)
    assert current_limits() is SHARED
    monkeypatch.delenv("PALIMPSEST_MODE")
    assert current_limits() is LOCAL


@pytest.mark.parametrize(
    "address", ["localhost", " LocalHost ", "127.0.0.1", "127.3.2.1", "::1", "[::1]"]
)
def test_an_instance_that_only_this_computer_reaches_is_local(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv(MODE, "")
    share_beyond_loopback(address)
    assert current_limits() is LOCAL


@pytest.mark.parametrize(
    "address",
    [
        None,
        "",
        "0.0.0.0",
        "::",
        "192.168.1.5",
        "10.0.0.1",
        "example.org",
        "localhost.example.org",
        "unix:///s",
    ],
)
def test_an_instance_that_others_reach_is_shared_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    monkeypatch.setenv(MODE, " ")
    share_beyond_loopback(address)
    assert current_limits() is SHARED
    monkeypatch.setenv(MODE, "local")
    share_beyond_loopback(address)
    assert current_limits() is LOCAL


def test_shared_allows_less_of_everything_and_a_bert_base() -> None:
    for field in fields(SHARED):
        if field.name != "shared":
            assert 0 < getattr(SHARED, field.name) < getattr(LOCAL, field.name)
    assert 110_000_000 < SHARED.max_parameters < 335_000_000  # BERT-base, not BERT-large


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("/srv/hub/models--a--b/config.json is damaged.", "config.json is damaged."),
        ("It is not there ([Errno 2] no file: '/srv/hub/x')", "It is not there ([Errno 2] no file: 'x')"),
        ("Ask https://huggingface.co/a/b, or read docs/a/b.md or hub:a/b.", None),
        ("Write 1/2, and/or zoo:seed-0.", None),
        ("/srv/my data/store/merged/m is missing: get /srv/my data/store.", "m is missing: get store."),
        (r"C:\Users\anna\m is missing.", "m is missing."),
    ],
)  # fmt: skip
def test_errors_on_a_shared_instance_name_no_folder_of_the_server(
    text: str, shared: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", "/srv/my data/store")
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    assert str(ModelError(text)) == (shared or text)
    monkeypatch.setenv("PALIMPSEST_MODE", "local")
    assert str(ModelError(text)) == text
