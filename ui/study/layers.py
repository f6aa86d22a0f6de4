"""What a page shows: a layer chosen on a slider, played, or clicked in a chart; what was chosen in
one figure is chosen in the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from core import options
from ui.frame.links import Address
from ui.study.controls import KEPT

STEP = 1.2  # seconds per layer while layers are played
EMBEDDINGS = "Layer 0 is the output of the embeddings."
PLAYING, FIRST = "playing since", "first layer played"  # session state
PICKED = "picked"  # name of the selection in a clickable chart


def layer_option(help: str) -> Any:
    """Declare the display option of the layer; its default means the page's own choice."""
    return options.whole("Layer", options.MOST_LAYERS, low=0, high=options.MOST_LAYERS, help=help)


def layer_slider(address: Address, layers: Sequence[int], usual: int, help: str = "") -> int:
    """Draw a slider of layers with a button that plays them; return the layer to show, the usual
    one until the user chooses, and if the chosen layer does not exist."""
    state = st.session_state
    proposed = address["layer"] == address.proposed("layer")
    if address["layer"] not in layers and not proposed:
        address.announce_missing("layer")
    if address["layer"] not in layers or proposed:
        address.propose("layer", usual)
    if len(layers) < 2:
        return usual
    _advance(address, layers)
    row = st.container(horizontal=True, vertical_alignment="center", gap="medium")
    row.markdown("Layer", width="content")
    chosen = row.select_slider(
        "Layer", layers, key=address.key("layer"), label_visibility="collapsed", **KEPT
    )
    if chosen != usual:
        address.chosen("layer")
    plays = bool(state.get(address.key(PLAYING)))
    if row.button(
        "Stop" if plays else "Play",
        key=address.key("play"),
        icon=":material/pause:" if plays else ":material/play_arrow:",
        help=f"Shows the layers one after the other. {help or EMBEDDINGS}",
    ):
        state[address.key(PLAYING)] = None if plays else time.monotonic()
        if not plays and chosen == layers[-1]:
            state[address.key(FIRST)] = layers[0]
        st.rerun()
    if not plays:  # layers that are played are one act, whose end the address says
        address.update()
    return int(chosen)


def played(address: Address, view: Callable[..., Any]) -> Callable[..., Any]:
    """Make the view a fragment, which reruns by itself while layers are played."""
    fragment: Callable[..., Any] = st.fragment(
        view, run_every=STEP if st.session_state.get(address.key(PLAYING)) else None
    )
    return fragment


def _advance(address: Address, layers: Sequence[int]) -> None:
    """Move to the next layer when its time has come; stop after the last."""
    state = st.session_state
    if address.key(FIRST) in state:
        address.pass_by("layer", state.pop(address.key(FIRST)))
        return
    since = state.get(address.key(PLAYING))
    if since is None or time.monotonic() - since < STEP * 0.8:
        return
    at = layers.index(address["layer"])
    if at + 1 < len(layers):
        address.pass_by("layer", layers[at + 1])
        state[address.key(PLAYING)] = time.monotonic()
    else:
        state[address.key(PLAYING)] = None
        st.rerun()


def follow(key: str, chosen: Any, offered: Collection[Any]) -> None:
    """Give a widget what was chosen in another figure, once, if it offers it; call it before the
    widget is drawn."""
    state, before = st.session_state, f"{key} followed"
    if chosen in offered and state.get(before) != chosen:
        state[key] = chosen
    state[before] = chosen


@dataclass(frozen=True)
class Picking:
    """A chart's clickable points.

    Attributes:
        address: The page's.
        fields: Fields of a point that a click returns.
        values: Fields of the clicked point -> the page's options and their new values.
    """

    address: Address
    fields: Sequence[str]
    values: Callable[[Mapping[str, Any]], Mapping[str, Any]]

    def made(self, spec: Mapping[str, Any], key: str) -> tuple[Mapping[str, Any], dict[str, Any]]:
        """Make a chart's points clickable; return its specification and further arguments."""
        selectable = pickable(spec, self.fields)
        if selectable is None:
            return spec, {}
        return selectable, {"on_select": partial(self._take, key), "selection_mode": PICKED}

    def _take(self, key: str) -> None:
        points = st.session_state[key].selection.get(PICKED) or []
        if points:
            self.address.take(self.values(points[0]))


def pickable(spec: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any] | None:
    """Add a selection, which returns these fields of a point, to the specification's first layer of
    points or cells; None if it has neither."""
    layers = spec.get("layer")
    if layers is None:
        mark = spec.get("mark")
        if (mark.get("type") if isinstance(mark, Mapping) else mark) not in (
            "point",
            "circle",
            "square",
            "rect",
        ):
            return None
        selection = {
            "name": PICKED,
            "select": {"type": "point", "fields": list(fields), "on": "click"},
        }
        return {**spec, "params": [*spec.get("params", []), selection]}
    for number, layer in enumerate(layers):
        selectable = pickable(layer, fields)
        if selectable is not None:
            return {**spec, "layer": [*layers[:number], selectable, *layers[number + 1 :]]}
    return None
