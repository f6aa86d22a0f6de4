"""The dialog that chooses a folder with a checkpoint for a model field; on a personal computer
only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from core.errors import ModelError, PalimpsestError, by_number
from core.limits import current_limits
from core.models.folders import MOST_LISTED, Listing, list_folders, top_folders
from core.options import Option
from ui.frame.links import Address
from ui.frame.text import plain
from ui.study.forms import Form

KINDS = {
    "safetensors": "safetensors",
    "bin": "PyTorch .bin",
    "gguf": "GGUF",
    "adapter": "adapter",
}
HEIGHT = 300  # pixels of a list that scrolls
FITTING = 5  # folders of a list that does not
# session state: the folder that is listed, a typed path and what may be opened below it, the option
# that takes the folder, whether it did, or why not
SHOWN, TYPED, TYPED_TOPS = "folder shown", "folder typed", "folders typed"
FIELD, TAKEN, REFUSED = "field of the folder", "folder taken", "folder refused"


def folder_picker(form: Form[Any]) -> None:
    """Draw the button of the dialog below the form, for its options that take models; nothing on a
    shared instance, or if the view has no form."""
    if current_limits().shared or (form.experiment is not None and not form.experiment.read):
        return
    fields = {
        name: option for name, option in form.options.items() if option.kind in ("model", "models")
    }
    with form.fold:
        pressed = st.button(
            "Choose a folder",
            key=form.address.key("choose a folder"),
            icon=":material/folder_open:",
            type="tertiary",
            help="Lists the folders of this computer and puts one that holds a checkpoint "
            "into the form.",
        )
    if pressed:
        _dialog(form.address, fields)


@st.dialog("Choose a folder")
def _dialog(address: Address, fields: dict[str, Option]) -> None:
    """List folders; close when one was taken."""
    state = st.session_state
    if state.pop(address.key(TAKEN), False):
        st.rerun()
    tops = top_folders()
    with st.container(horizontal=True):
        for top, label in zip(tops, ("Working folder", "Home"), strict=False):
            _goto(address, label, top, icon=":material/home:" if label == "Home" else None)
    st.text_input(
        "Path of a folder",
        key=address.key(TYPED),
        placeholder="/runs/my-model",
        on_change=_type,
        args=(address,),
        help="Opens this folder, wherever it is on this computer.",
    )
    shown = Path(state.get(address.key(SHOWN), tops[0]))
    try:
        # a typed path is a folder of the user's choice: it may be hidden, or outside the others
        listing = list_folders(shown, (*tops, *state.get(address.key(TYPED_TOPS), ())))
    except ModelError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    st.markdown(f"**{plain(str(listing.folder))}**")
    _show(address, listing)
    if not listing.checkpoint:
        st.caption(
            "This folder holds no checkpoint: "
            "config.json with weights in safetensors or .bin, a .gguf file, or an adapter."
        )
        return
    st.caption(f"This folder holds a checkpoint ({KINDS[listing.checkpoint]}).")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Put it into",
            list(fields),
            format_func=lambda name: fields[name].label,
            key=address.key(FIELD),
        )
        st.button(
            "Use this folder",
            key=address.key("use the folder"),
            type="primary",
            on_click=_take,
            args=(address, fields, listing.folder),
        )
    if problem := state.pop(address.key(REFUSED), ""):
        st.error(plain(problem), icon=":material/error:")


def _show(address: Address, listing: Listing) -> None:
    """Draw the folders as buttons that open them, and say what is left out."""
    long = len(listing.folders) > FITTING
    with st.container(height=HEIGHT if long else "content", border=True, gap=None):
        if listing.above is not None:
            _goto(address, "Up", listing.above, icon=":material/arrow_upward:")
        for name, kind in listing.folders.items():
            label = plain(name) + (f" :gray-badge[{KINDS[kind]}]" if kind else "")
            icon = ":material/deployed_code:" if kind else ":material/folder:"
            _goto(address, label, listing.folder / name, icon=icon, type="tertiary")
    notes = []
    if listing.more:
        notes.append(f"Only the first {MOST_LISTED} folders are listed; type path:FOLDER instead.")
    if listing.outside:
        links = by_number(listing.outside, "link", "links")
        notes.append(f"{listing.outside} {links} to folders elsewhere left out.")
    if notes:
        st.caption(" ".join(notes))


def _goto(address: Address, label: str, folder: Path, **layout: object) -> None:
    """Draw a button that opens a folder."""
    key = address.key(f"{label} {folder}")
    st.button(label, key=key, on_click=_open, args=(address, folder), **layout)  # type: ignore[arg-type]


def _open(address: Address, folder: Path) -> None:
    st.session_state[address.key(SHOWN)] = str(folder)


def _type(address: Address) -> None:
    """Open the typed folder; what is below it may be opened, too."""
    text = str(st.session_state[address.key(TYPED)]).strip().strip("\"'").removeprefix("path:")
    if not text:
        return
    try:
        folder = Path(text).expanduser().absolute()
        st.session_state[address.key(TYPED_TOPS)] = (folder.resolve(),)
    except (OSError, RuntimeError, ValueError):  # no such home, a circular link: the list says so
        folder = Path(text)
    _open(address, folder)


def _take(address: Address, fields: dict[str, Option], folder: Path) -> None:
    """Put the folder into the chosen field; note why if the field refuses it."""
    option, ref = fields[st.session_state[address.key(FIELD)]], f"path:{folder}"
    value = ref if option.kind == "model" else list(dict.fromkeys([*address[option.name], ref]))
    try:
        option.check(value)
    except PalimpsestError as error:
        st.session_state[address.key(REFUSED)] = str(error)
        return
    address.set(option.name, value)
    st.session_state[address.key(TAKEN)] = True
