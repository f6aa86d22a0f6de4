"""What models are called in figures: short names, or what a reader calls them, kept in the page's
address.

Names change charts, legends and tables on the page and every figure that is downloaded; tables in
files keep the references.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from core.errors import PalimpsestError
from core.options import options_of
from core.options.option import LONGEST_NAME
from core.results.names import renamed, short_names
from ui.frame.links import PAGE, Manner
from ui.frame.text import plain, plain_label

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

NAMES = "names"  # in the address
KINDS = ("zoo:", "hub:", "path:")
PROBLEM = "problem of names"
HELP = "Renames models in this page's charts, tables and figure files. The link keeps the names."
Drawn = TypeVar("Drawn")


def names_here() -> dict[str, str]:
    """Return the page's names of models by reference; empty if none was renamed."""
    return _pairs(st.session_state.get(_key(), ()))


def in_names(draw: Callable[..., Drawn], names: Mapping[str, str]) -> Callable[..., Drawn]:
    """Wrap what draws a figure so that it uses these names, on whichever thread it runs."""

    @wraps(draw)
    def named(*given: Any, **options: Any) -> Drawn:
        with renamed(names):
            return draw(*given, **options)

    return named


def named_cells(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return the table with models called by these names wherever a cell is a reference."""
    if not names:
        return table
    texts = [column for column in table.columns if _holds_text(table[column])]

    def name_of(cell: object) -> object:
        return names.get(cell, cell) if isinstance(cell, str) else cell

    return table.assign(**{column: table[column].map(name_of) for column in texts})


def models_in(result: Result) -> tuple[str, ...]:
    """List the base and the models in the result's tables, each once; without untrained copies."""
    cells = (
        cell
        for table in result.tables.values()
        for column in table.columns
        if _holds_text(table[column])
        for cell in table[column]
    )
    named = (result.spec.get("base"), *cells)
    return tuple(
        dict.fromkeys(ref for ref in named if isinstance(ref, str) and ref.startswith(KINDS))
    )


def names_control(models: Sequence[str]) -> None:
    """Draw a text field for each model, with the button that applies the names."""
    if not models:
        return
    state, page, names = st.session_state, st.session_state.get(PAGE), names_here()
    with st.form(f"{page}/names form", border=False):
        st.markdown("**Names of models**", help=HELP)
        for ref, name in short_names(models).items():
            # The key holds the name in force, so that a link or the back button fills the field
            # anew.
            st.text_input(
                plain_label(name),
                names.get(ref, ""),
                max_chars=LONGEST_NAME,
                key=_field(ref, names),
                placeholder=name,
            )
        st.form_submit_button("Apply", on_click=_apply, args=(tuple(models),))
        if problem := state.get(f"{page}/{PROBLEM}"):
            st.error(plain(problem), icon=":material/error:")


def _apply(models: Sequence[str]) -> None:
    """Take what the fields hold, and keep the names of models that this figure does not have."""
    state, page, names = st.session_state, st.session_state.get(PAGE), names_here()
    typed = {ref: str(state.get(_field(ref, names), "")).strip() for ref in models}
    wanted = {ref: name for ref, name in names.items() if ref not in typed}
    wanted |= {ref: name for ref, name in typed.items() if name}
    shown = {ref: wanted.get(ref, name) for ref, name in short_names(models).items()}
    shared = [name for name in shown.values() if [*shown.values()].count(name) > 1]
    option = next(option for option in options_of(Manner) if option.name == NAMES)
    try:
        if shared:
            raise option.refuse(f"{shared[0]} twice")
        state[_key()] = list(option.check([f"{ref}={name}" for ref, name in wanted.items()]))
        state.pop(f"{page}/{PROBLEM}", None)
    except PalimpsestError as error:
        state[f"{page}/{PROBLEM}"] = str(error)


def _holds_text(column: pd.Series) -> bool:
    """Whether a column may hold references: it is of no kind of number, truth value or time."""
    return column.dtype.kind not in "biufcmM"


def _pairs(values: Sequence[str]) -> dict[str, str]:
    return {ref: name for ref, _, name in (value.partition("=") for value in values)}


def _key() -> str:
    """The session's key of the option, as `ui.frame.links.Address.key` gives it."""
    return f"{st.session_state.get(PAGE)}/{NAMES}"


def _field(ref: str, names: Mapping[str, str]) -> str:
    return f"{st.session_state.get(PAGE)}/name of {ref}, now {names.get(ref, '')}"
