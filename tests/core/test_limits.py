"""The caps of shared mode, switched by the environment at call time."""

from __future__ import annotations

from dataclasses import fields

import pytest

from core.limits import LOCAL, SHARED, current_limits


def test_local_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert current_limits() is LOCAL
    monkeypatch.setenv("PALIMPSEST_MODE", "local")
    assert current_limits() is LOCAL


@pytest.mark.parametrize("value", ["shared", " Shared "])
def test_shared_is_read_on_each_call(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", value)
    assert current_limits() is SHARED
    monkeypatch.delenv("PALIMPSEST_MODE")
    assert current_limits() is LOCAL


def test_shared_allows_less_of_everything_and_a_bert_base() -> None:
    for field in fields(SHARED):
        if field.name != "shared":
            assert 0 < getattr(SHARED, field.name) < getattr(LOCAL, field.name)
    assert 110_000_000 < SHARED.max_parameters < 335_000_000  # BERT-base, not BERT-large
