"""The models that forms offer, and the Hub's list of fine-tunes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from core.catalogue import STUDIES
from core.commands.examples.every import query_of
from core.errors import PalimpsestError
from core.limits import current_limits
from core.models import parse_ref
from core.models.hub.collections import PRESETS, collections_for
from core.models.zoo import read_adapters, read_manifest, zoo_folder
from core.results.shelf.archive import Shelved, default_shelf, whereabouts_of
from core.runs.process.remembered import remembered
from ui.frame.links import Address
from ui.frame.shared import A_MOMENT, MOST
from ui.frame.shell import file_of
from ui.frame.text import plain

MOST_FOUND = 50
PAGE_OF = {
    "rsa": "pages/rsa.py",
    "probe": "pages/probe_trees.py",
    "weights": "pages/weight_clustering.py",
    "align": "pages/seed_alignment.py",
}
REAL = "**Real models, precomputed**  \nResults that open without their models."
PUBLIC = "Models of the Hub that are studied together: seeds, training runs, fine-tunes."
TOO_LARGE = "More than this instance allows; run Palimpsest on your own computer."
FOUND, NOT_FOUND = "found_fine_tunes", "no_fine_tunes"


def model_options() -> list[str]:
    """List the references to offer: included models, public ones, those from the Hub."""
    listed = st.session_state.get(FOUND, ())
    further = (model.ref for model in (*PRESETS, *listed))
    return list(dict.fromkeys((*_refs_in(zoo_folder(), read_manifest), *further)))


def adapter_options() -> list[str]:
    """List the references of the included LoRA adapters, which are nobody's base."""
    return [*_refs_in(zoo_folder(), read_adapters)]


@remembered(MOST, seconds=A_MOMENT)
def _refs_in(box: Path, read: Callable[[Path], list[dict[str, Any]]]) -> tuple[str, ...]:
    """List the references in a box, which every control of a form offers."""
    return tuple(str(entry["ref"]) for entry in read(box))


def show_real_models(page: str = "") -> None:
    """Draw a link to each result of models that are not included, with its finding, for one page's
    file or all (""), and say below where the models came from."""
    sources: dict[str, str] = {}
    for entry in shelved_entries(page):
        study = STUDIES[entry.study]
        beside = entry.study if entry.beside else ""
        st.page_link(
            file_of(entry.page),
            label=f"**{plain(entry.title)}**",
            query_params=query_of(entry.spec(study.Spec), beside),
        )
        st.caption(plain(entry.sentence))
        sources |= entry.sources
    st.caption(plain(whereabouts_of(sources)))


def shelved_entries(page: str = "") -> list[Shelved]:
    """List the results of models that are not included and can be shown here, for one page's file
    or all ("")."""
    asked = [each for each in default_shelf().entries if page in ("", each.page)]
    return [each for each in asked if _is_valid(each)]


def _is_valid(entry: Shelved) -> bool:
    """Whether a result's options are valid here; a shared instance names no folders."""
    try:
        return bool(entry.spec(STUDIES[entry.study].Spec))
    except (PalimpsestError, KeyError):
        return False


def public_models(address: Address, *studies: str) -> None:
    """Draw, inside a form, sets of public models for the page's studies, its main one first, each
    with its cost and a button that chooses them."""
    limits = current_limits()
    with st.popover("Public models", icon=":material/public:", help=PUBLIC):
        if shelved_entries(page := PAGE_OF[studies[0]]):
            st.markdown(REAL)
            show_real_models(page)
        for study in studies:
            for collection in collections_for(study):
                st.markdown(f"**{collection.title}**  \n{plain(collection.sentence)}")
                large = (
                    collection.parameters > limits.max_parameters
                    or collection.download * 1e9 > limits.max_download_bytes
                )
                st.form_submit_button(
                    "Choose",
                    key=address.key(f"{study} {collection.name}"),
                    disabled=large,
                    help=TOO_LARGE if large else None,
                    on_click=address.take,
                    args=(address.of_study(study, collection.values[study]),),
                )


def fine_tune_finder(base_key: str) -> None:
    """Draw, inside a form, the fine-tunes, with the data sets on their cards, of the Hub model in
    the control of this key. Every model control then offers them."""
    with st.popover("Find fine-tunes on the Hub", icon=":material/manage_search:"):
        st.markdown(
            "Models on the Hugging Face Hub whose cards name the base model above as the model "
            "they were fine-tuned from."
        )
        st.form_submit_button(
            "Search the Hub", on_click=_find_fine_tunes, args=(base_key,), icon=":material/search:"
        )
        if problem := st.session_state.get(NOT_FOUND):
            st.info(plain(problem), icon=":material/info:")
        listed = st.session_state.get(FOUND, ())
        if listed:
            rows = [
                {
                    "model": model.ref,
                    "data set": model.label,
                    "downloads": model.downloads,
                    "parameters": model.parameters,
                }
                for model in listed
            ]
            st.dataframe(rows, hide_index=True, height=280)


def _find_fine_tunes(base_key: str) -> None:
    from core.models.hub.listing import list_fine_tunes

    st.session_state[NOT_FOUND] = ""
    lacks: list[str] = []
    try:
        base = parse_ref(str(st.session_state.get(base_key, "")))
        if base.kind != "hub":
            st.session_state[NOT_FOUND] = (
                "Choose a base model from the Hub first, such as hub:roberta-base: the Hub lists "
                "fine-tunes of its own models only."
            )
            return
        listed = [
            model
            for model in list_fine_tunes(base.name, MOST_FOUND, say=lacks.append)
            if not model.gated
        ]
    except PalimpsestError as error:
        st.session_state[NOT_FOUND] = str(error)
        return
    st.session_state[FOUND] = listed
    st.session_state[NOT_FOUND] = " ".join(lacks)
    if not listed:
        st.session_state[NOT_FOUND] = (
            f"No model card on the Hub names {base.name} as its base. Type a model's name into the "
            "form instead."
        )
