"""What a page says of a study's price."""

from __future__ import annotations

import pytest

from core.models.hub.client import RESOLVED_FOR
from core.studies.rsa.layers.spec import RsaSpec
from ui.study import price
from ui.study.run_panel import Request


def test_the_price_of_hub_models_is_asked_for_again_when_the_hub_may_say_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def panel(request: Request, **manner: bool) -> None:
        asked.append(request.key)

    monkeypatch.setattr(price, "run_panel", panel)
    for seconds in (1.0, 2.0, RESOLVED_FOR + 1):
        monkeypatch.setattr(price.time, "monotonic", lambda now=seconds: now)
        price.word_price("RSA", RsaSpec(base="hub:someone/model"), pytest.fail)
    assert asked[0] == asked[1] != asked[2]
