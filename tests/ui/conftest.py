"""The included models that pages of these tests name."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def small_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A manifest that names models; nothing here opens them."""
    names = ("seed-0", "seed-1", "parse-0", "sentiment-0", "nli-0")
    models = ", ".join(f'{{"name": "{name}", "ref": "zoo:{name}"}}' for name in names)
    (tmp_path / "manifest.json").write_text(f'{{"models": [{models}]}}')
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    return tmp_path
