"""The kinds of layer swap, their names in tables and charts, and what is kept between them."""

from __future__ import annotations

BASE_WAYS = ("below", "above", "layer", "only", "truncated", "removed")
DONOR_WAYS = ("below", "layer")
MOST_KEPT = 2**28  # bytes of the fine-tune's states that are kept for the next donor or draw
# subwords of a self-test times the model's parameters: a whole batch of a small model, and of a
# large one as many of its longest sentences as take seconds
TESTED = 3e10
WAYS = {
    "below": "layers 0 to k are the base's",
    "above": "layers above k are the base's",
    "truncated": "the head reads layer k",
    "noise below": "layers 0 to k: random change of equal size",
    "random below": "layers 0 to k have random weights",
    "layer": "layer k alone is the base's",
    "only": "layer k alone is the fine-tune's",
    "removed": "layer k removed",
    "noise layer": "layer k: random change of equal size",
    "random layer": "layer k has random weights",
}
