"""Form controls that every page shares: one model, several models, a text. What they hold identifies the study, so
each is bound to the address bar under its key; what they return has been checked, with the problem beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from core.errors import PalimpsestError
from core.limits import MEGABYTE, current_limits
from core.models import locate, parse_ref, zoo_models
from core.models.hub import PRESETS
from core.text.corpora import FORMS, GENRES, Corpus, corpus_from_bytes
from core.text.datasets import parse_hub_ref
from ui.old_links import Rule, forget_messages, number, one_of
from ui.text import plain, quote

MOST_MODELS = 12
MOST_FOUND = 50
FOUND, NOT_FOUND = "found_fine_tunes", "no_fine_tunes"
UPLOAD = "upload"
TEXTS = ("demo", "demo-gold", UPLOAD)
UPLOAD_MEGABYTES = 20  # as in .streamlit/config.toml
MODEL_HELP = (
    "`zoo:` models are in the box. `hub:organisation/name@revision` is downloaded from the Hugging Face hub, "
    "`path:/some/folder` read from this computer; `random:` before any of them draws its weights afresh. "
    "Type to search, or to enter your own."
)
TEXT_HELP = (
    "`demo`: ten genres written for this app. `demo-gold`: fewer sentences, with trees. `upload`: the file below. "
    "Or type `hub:NAME` for a data set of the Hugging Face hub, or a path that ends in .txt or .conllu."
)


@dataclass(frozen=True)
class TextChoice:
    """What the text controls hold: a CorpusRef, how many sentences, and the upload if that is the text.

    Attributes:
        ref: A CorpusRef as `core.text.corpora` reads it; `upload:NAME` for an upload.
        genres: Genres kept; all where empty.
        limit: The most sentences to use.
        upload: Content of the uploaded file.
    """

    ref: str
    genres: tuple[str, ...]
    limit: int
    upload: bytes | None = None

    @property
    def identity(self) -> str:
        """Tells two uploads of the same name apart."""
        return hashlib.sha256(self.upload).hexdigest() if self.upload is not None else ""

    def corpora(self) -> dict[str, Corpus]:
        """The upload, read, under its CorpusRef; empty for what a study reads itself.

        Raises:
            CorpusError: If the upload is not the text that it says it is.
        """
        if self.upload is None:
            return {}
        name = self.ref.partition(":")[2]
        return {self.ref: corpus_from_bytes(name, self.upload, limit=self.limit)}


def form_submitted(label: str = "Run") -> bool:
    """The form's button; whoever presses it has chosen, and what a link said is forgotten."""
    return st.form_submit_button(label, type="primary", icon=":material/play_arrow:", on_click=forget_messages)


def model_options() -> list[str]:
    """References to offer, each once: the box first, then the public models, then what the hub was asked for."""
    found = st.session_state.get(FOUND, ())
    refs = (
        [str(entry["ref"]) for entry in zoo_models()] + [preset.ref for preset in PRESETS] + [one.ref for one in found]
    )
    return list(dict.fromkeys(refs))


def fine_tune_finder(*, base_key: str = "base") -> None:
    """Inside a form: lists the fine-tunes of the chosen hub model with the data sets on their cards.

    What it finds can be picked in every model control.
    """
    with st.popover("Fine-tunes", icon=":material/manage_search:"):
        st.markdown("Models on the hub whose cards say that they were fine-tuned from the base model above.")
        st.form_submit_button("Ask the hub", on_click=_find_fine_tunes, args=(base_key,), icon=":material/search:")
        if problem := st.session_state.get(NOT_FOUND):
            st.info(plain(problem), icon=":material/info:")
        found = st.session_state.get(FOUND, ())
        if found:
            rows = [
                {"model": one.ref, "data set": one.label, "downloads": one.downloads, "parameters": one.parameters}
                for one in found
            ]
            st.dataframe(rows, hide_index=True, height=280)


def _find_fine_tunes(base_key: str) -> None:
    from core.models.hub_listing import list_fine_tunes

    st.session_state[NOT_FOUND] = ""
    try:
        base = parse_ref(str(st.session_state.get(base_key, "")))
        if base.kind != "hub":
            st.session_state[NOT_FOUND] = "Only hub models have fine-tunes there: choose one such as hub:roberta-base."
            return
        found = [one for one in list_fine_tunes(base.name, MOST_FOUND) if not one.gated]
    except PalimpsestError as error:
        st.session_state[NOT_FOUND] = str(error)
        return
    st.session_state[FOUND] = found
    if not found:
        st.session_state[NOT_FOUND] = f"No card on the hub names {base.name} as its base."


def model_picker(label: str, *, key: str, default: str, help: str = MODEL_HELP) -> str | None:
    """One model.

    Returns:
        Its reference in canonical form; None if it names nothing, which is then said below the control.
    """
    options = _with(model_options(), [default])
    given = st.selectbox(
        label,
        options,
        index=options.index(default),
        key=key,
        bind="query-params",
        accept_new_options=True,
        help=help,
    )
    return _checked_ref(str(given))


def models_picker(
    label: str, *, key: str, default: Sequence[str], most: int = MOST_MODELS, help: str = MODEL_HELP
) -> tuple[str, ...] | None:
    """Several models, each once, in the order chosen.

    Returns:
        Their references; None if there is none or one names nothing, which is then said below the control.
    """
    options = _with(model_options(), default)
    given = st.multiselect(
        label,
        options,
        default=list(default),
        key=key,
        bind="query-params",
        accept_new_options=True,
        max_selections=most,
        wrap=True,
        help=help,
    )
    refs = [_checked_ref(str(value)) for value in given]
    if not refs:
        st.error("Choose at least one model.", icon=":material/error:")
    if not refs or None in refs:
        return None
    return tuple(dict.fromkeys(ref for ref in refs if ref is not None))


def text_picker(
    *, default: str = "demo", sentences: int = 200, key: str = "text", genres_key: str = "genre"
) -> TextChoice | None:
    """A text: the demo and its genres, an upload, a data set of the hub; and how many of its sentences.

    Returns:
        The choice; None if it cannot be used, which is then said below the control.
    """
    limits = current_limits()
    source, genres, amount, upload = st.columns([3, 4, 2, 2], vertical_alignment="bottom")
    with source:
        given = str(
            st.selectbox(
                "Text",
                TEXTS,
                index=TEXTS.index(default),
                key=key,
                bind="query-params",
                accept_new_options=True,
                help=TEXT_HELP,
            )
        )
    with genres:
        chosen = st.multiselect(
            "Genres of the demo", GENRES, key=genres_key, bind="query-params", placeholder="All ten", wrap=True
        )
    with amount:
        most = min(limits.max_sentences, 10_000)
        limit = st.number_input(
            "Sentences", 20, most, min(sentences, most), step=50, key="sentences", bind="query-params"
        )
    with upload, st.popover("Upload", icon=":material/upload_file:", width="stretch"):
        file = st.file_uploader(
            "A .txt file of running text, or .conllu with words and trees. Choose `upload` as the text to use it.",
            type=["txt", "conllu", "gz"],
            max_upload_size=min(UPLOAD_MEGABYTES, limits.max_upload_bytes // MEGABYTE),
            help="The file stays in memory for this session; what is computed from it is kept without the text.",
        )
    if given == UPLOAD:
        if file is None:
            st.error("Choose a file under “Upload”, then run again.", icon=":material/error:")
            return None
        return TextChoice(f"{UPLOAD}:{file.name}", (), int(limit), file.getvalue())
    problem = text_problem(given)
    if problem:
        st.error(f"{quote(given)}: {plain(problem)}", icon=":material/error:")
        return None
    kept = tuple(genre for genre in GENRES if genre in chosen) if given.startswith("demo") else ()
    return TextChoice(given, kept, int(limit))


def link_rules(*, models: Sequence[str] = (), **rules: Rule) -> dict[str, Rule]:
    """Rules for `read_link`: the text controls' own, those of the model controls named, and the page's."""
    common: dict[str, Rule] = {
        "text": text_problem,
        "genre": one_of(GENRES),
        "sentences": number(20, min(current_limits().max_sentences, 10_000)),
    }
    return common | dict.fromkeys(models, model_problem) | rules


def model_problem(text: str) -> str | None:
    """Why this is no model that can be used here; None if it may be one. The hub is not asked."""
    try:
        ref = parse_ref(text)
        if ref.kind != "hub":
            locate(ref)
    except PalimpsestError as error:
        return str(error)
    return None


def text_problem(text: str) -> str | None:
    """Why this is no text that can be used here; None if it may be one. Nothing is read."""
    base, _, named = text.partition(":")
    if text == UPLOAD:
        return None
    if base in ("demo", "demo-gold"):
        unknown = [genre for genre in named.split(",") if genre and genre not in GENRES]
        return f"The demo has no genre {quote(unknown[0])}; it has {', '.join(GENRES)}." if unknown else None
    if base == "hub":
        try:
            parse_hub_ref(text)
        except PalimpsestError as error:
            return str(error)
        return None
    if not text.lower().endswith((".txt", ".conllu", ".txt.gz", ".conllu.gz")):
        return f"This is not a text. There are: {FORMS}."
    if current_limits().shared:
        return "Files of the server cannot be read on a shared instance: upload the text instead."
    return None if Path(text).expanduser().is_file() else "There is no such file: check the path, or upload it."


def _checked_ref(text: str) -> str | None:
    problem = model_problem(text)
    if problem:
        st.error(plain(problem), icon=":material/error:")
        return None
    return str(parse_ref(text))


def _with(options: list[str], wanted: Sequence[str]) -> list[Any]:
    return options + [ref for ref in wanted if ref not in options]
