"""Names of models and layers in sentences."""

from __future__ import annotations

import pytest

from core.results.names import layers_in_words


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        ([], "no layer"),
        ([2], "layer 2"),
        ([2, 3], "layers 2 and 3"),
        ([2, 3, 4], "layers 2 to 4"),
        ([1, 3, 6], "layers 1, 3 and 6"),
    ],
)
def test_layers_in_words(layers: list[int], text: str) -> None:
    assert layers_in_words(layers) == text
