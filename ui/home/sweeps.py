"""The home page's section on sweeps that `python -m core sweep` runs on this computer."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.sweep.folder import BROKEN, FINISHED, RUNNING, STOPPED, State, latest_sweeps
from ui.frame.text import plain

EVERY = 2.0  # seconds between two looks at a running sweep
SHOWN = 5  # sweeps
MOST_FAILURES = 50  # of one sweep that are listed
BADGES = {
    RUNNING: ":blue-badge[running]",
    FINISHED: ":green-badge[finished]",
    STOPPED: ":orange-badge[stopped]",
    BROKEN: ":orange-badge[broken off]",
}


def show_sweeps() -> None:
    """Draw the state of this user's latest sweeps; nothing if there are none, or on a shared
    instance."""
    sweeps = latest_sweeps()
    if not sweeps:
        return
    st.header("Sweeps", anchor=False)
    runs = any(state.now == RUNNING for state in sweeps.values())
    st.fragment(_draw, run_every=EVERY if runs else None)()


def _draw() -> None:
    for folder, state in list(latest_sweeps().items())[:SHOWN]:
        with st.container(border=True, gap="small"):
            _show(folder, state)


def _show(folder: Path, state: State) -> None:
    """Draw one sweep: counts, time left, what is running, and why cells failed."""
    st.markdown(f"**{plain(state.name)}** {BADGES.get(state.now, '')}")
    share = len(state.ended) / max(state.cells, 1)
    st.progress(min(share, 1.0), plain(state.sentence))
    if state.now == RUNNING and state.running:
        st.caption(plain(f"Running: {'; '.join(state.running[:MOST_FAILURES])}"))
    if state.failures:
        with st.expander("Failed cells"):
            for failure in state.failures[:MOST_FAILURES]:
                st.markdown(f"{plain(failure.name)}: {plain(failure.sentence)}")
            if state.failed > MOST_FAILURES:
                st.caption(f"The first {MOST_FAILURES} are listed; sweep.json has all of them.")
    st.caption(plain(f"{', '.join(state.studies)}; results.parquet in {folder}"))
