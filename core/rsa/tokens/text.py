"""What would mislead a reader of the token map."""

from __future__ import annotations

CAVEATS = {
    "Two dimensions are not the whole space.": (
        "Distances on the map are not the distances of the vectors: the shares of variance above "
        "say how much of them the two axes show."
    ),
}
