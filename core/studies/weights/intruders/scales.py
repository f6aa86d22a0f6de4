"""The scales and the kinds of directions of the causal test, and their names in tables and
charts."""

from __future__ import annotations

SCALES = (1.0, 0.75, 0.5, 0.25, 0.0)  # from the model as it is to the directions removed
LOSS = "masked loss"
WAYS = {
    "intruders": "intruder dimensions",
    "random": "random directions",
    "other": "other directions",
    "shrunk": "whole update, shrunk by an equal norm",
}
