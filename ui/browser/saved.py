"""Studies saved under a name, in the sidebar: their links are kept in the reader's browser.

Links hold settings, never a result or an uploaded file, and never reach another visitor.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

SCRIPT = Path(__file__).parent / "saved.js"
FORM = """
<details><summary>Saved studies</summary>
<form><input maxlength="60" aria-label="Name of this study" placeholder="Name of this study">
<button type="submit">Save</button></form>
<p role="status"></p><ul></ul></details>
"""
STYLE = """
:host, details { font-size: .875rem; color: var(--st-text-color); }
summary { cursor: pointer; }
form, li { display: flex; gap: .4rem; align-items: center; margin: .4rem 0; }
input, button { font: inherit; color: inherit; background: transparent; min-width: 0;
    border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius);
    padding: .2rem .5rem; }
input, a { flex: 1; }
a { color: var(--st-link-color); overflow-wrap: anywhere; }
button { cursor: pointer; }
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
ul { list-style: none; margin: 0; padding: 0; }
p { margin: 0; }
"""


def show_saved() -> None:
    """Draw the form that saves the page's study under a name, and the list of saved studies."""
    script = SCRIPT.read_text(encoding="utf8")
    saved = st.components.v2.component("palimpsest_saved_studies", html=FORM, css=STYLE, js=script)
    with st.sidebar:
        saved(key="saved_studies")
