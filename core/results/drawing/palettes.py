"""Other colours for a finished chart: a palette for a paper, the counterparts of a dark page.

Charts are drawn in the colours of `core.results.drawing.style`. A palette replaces them in the
specification afterwards, never in its data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from core.results.drawing import style

HEX = re.compile(r"#[0-9a-fA-F]{6}")
LUMINANCE = (0.299, 0.587, 0.114)  # of red, green and blue, as in grey television (BT.601)
RAMP = ["#1a1a1a", "#f2f2f2"]  # in place of viridis: dark to light, too
USUAL, MUTED, GREYS = "Okabe and Ito", "Tol, muted", "Greys"
# Paul Tol, Colour Schemes, SRON/EPS/TN/09-002 (2021), the scheme "muted".
TOL: Mapping[str, str] = {
    style.BLUE: "#332288",
    style.ORANGE: "#CC6677",
    style.GREEN: "#117733",
    style.PINK: "#AA4499",
    style.YELLOW: "#DDCC77",
    style.SKY: "#88CCEE",
    style.OLIVE: "#999933",
    style.BROWN: "#882255",
    style.PURPLE: "#44AA99",
}
PALETTES = (USUAL, MUTED, GREYS)


def in_palette(spec: Mapping[str, Any], palette: str) -> dict[str, Any]:
    """Return the specification in the colours of a palette.

    Args:
        spec: Vega-Lite; it is not changed.
        palette: One of `PALETTES`. In greys a colour keeps its luminance, so that lines
            differ by luminance, dash and shape alone.

    Raises:
        KeyError: If there is no such palette.
    """
    muted = {old.lower(): new for old, new in TOL.items()}
    new: dict[str, Callable[[str], str]] = {
        USUAL: lambda colour: colour,
        MUTED: lambda colour: muted.get(colour.lower(), colour),
        GREYS: grey_of,
    }
    spec = dict(replaced(spec, new[palette]))
    return dict(_without_hue(spec)) if palette == GREYS else spec


def replaced(part: Any, new: Callable[[str], str]) -> Any:
    """Replace the strings in a part of a specification, such as colours, but not in its data."""
    if isinstance(part, str):
        return new(part)
    if isinstance(part, list):
        return [replaced(each, new) for each in part]
    if isinstance(part, Mapping):
        return {
            name: each if name in ("data", "datasets") else replaced(each, new)
            for name, each in part.items()
        }
    return part


def grey_of(text: str) -> str:
    """Return the grey of a colour's luminance; a text that is no colour as it is."""
    if not HEX.fullmatch(text):
        return text
    parts = (int(text[at : at + 2], 16) for at in (1, 3, 5))
    level = round(sum(weight * part for weight, part in zip(LUMINANCE, parts, strict=True)))
    return f"#{level:02x}{level:02x}{level:02x}"


def _without_hue(part: Any) -> Any:
    """Replace the colour scheme of heatmaps by a ramp of greys in the same order."""
    if isinstance(part, list):
        return [_without_hue(each) for each in part]
    if not isinstance(part, Mapping):
        return part
    inner = {
        name: each if name in ("data", "datasets") else _without_hue(each)
        for name, each in part.items()
    }
    if inner.get("scheme") == "viridis":
        del inner["scheme"]
        inner["range"] = RAMP
    return inner
