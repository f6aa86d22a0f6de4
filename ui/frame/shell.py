"""The frame of every page: the list of pages, the logo, and the facts in the sidebar."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.navigation.page import Page

from core.errors import counted
from core.limits import current_limits
from core.runs.process.cores import available_cores
from ui.frame.text import plain

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

IMAGES = Path(__file__).parents[1] / "images"
ROOT = Path(__file__).parents[2]
HOVER = Path(__file__).parent / "hover.js"
PROSE = 720  # pixels: lines of about ninety characters
ROUTED = "routed"
STORE_SILENT = "The server's store does not answer; as soon as it does, results are kept again."
STORE_SHARED = "Results are stored here, so that everybody can use them again."
STORED = "Results are stored here and used again:"
WIDTH = 1120  # pixels: wide enough for two figures beside each other, narrow enough to read


@dataclass(frozen=True)
class PageEntry:
    """A page: its file below the root, its name in the navigation, a Material icon, and the
    question that it answers."""

    path: str
    title: str
    icon: str
    question: str = ""


# Registering a page is one line here.
PAGES = (
    PageEntry("pages/home.py", "Home", ":material/home:"),
    PageEntry(
        "pages/rsa.py",
        "RSA",
        ":material/stacked_line_chart:",
        "Which layers does fine-tuning change?",
    ),
    PageEntry(
        "pages/probe_trees.py",
        "Probe trees",
        ":material/account_tree:",
        "Is syntax still in the fine-tuned model?",
    ),
    PageEntry(
        "pages/weight_clustering.py",
        "Weight clustering",
        ":material/bubble_chart:",
        "What was this model fine-tuned on?",
    ),
    PageEntry(
        "pages/seed_alignment.py",
        "Seed alignment",
        ":material/join:",
        "Do two seeds learn the same space?",
    ),
    PageEntry("pages/teaching.py", "Teaching", ":material/school:"),
)


def page_theme() -> str:
    """Return the theme of the page that is being drawn: "light" or "dark"."""
    return "dark" if st.context.theme.type == "dark" else "light"


def file_of(path: str) -> Path:
    """Return a page's file for links: a relative one would be looked for beside the entry."""
    return ROOT / path


def navigation() -> Page:
    """Return the requested page. The tab's icon is set first: streamlit would otherwise fetch a
    page's Material icon from another server."""
    st.session_state[ROUTED] = True
    st.set_page_config(
        page_title="Palimpsest", page_icon=str(IMAGES / "mark-light.svg"), layout="wide"
    )
    pages = [st.Page(file_of(entry.path), title=entry.title, icon=entry.icon) for entry in PAGES]
    return st.navigation(pages + [_with_hyphens(entry) for entry in PAGES if "_" in entry.path])


def entry_of(page: Page) -> str:
    """Return the file of a page that `navigation` returned; "" for one that only redirects."""
    return next(
        (
            entry.path
            for entry in PAGES
            if entry.title == page.title and page.visibility != "hidden"
        ),
        "",
    )


def asks(path: str) -> bool:
    """Whether the page of this file answers a question with a study."""
    return any(entry.path == path and entry.question for entry in PAGES)


def _with_hyphens(entry: PageEntry) -> Page:
    """Make the page's second address, which redirects: `/probe-trees` for `/probe_trees`."""

    def lead() -> None:
        st.switch_page(
            file_of(entry.path),
            query_params={name: st.query_params.get_all(name) for name in st.query_params},
        )

    url_path = Path(entry.path).stem.replace("_", "-")
    return st.Page(lead, title=entry.title, url_path=url_path, visibility="hidden")


def open_page(title: str, lead: str, *, brief: bool = True) -> None:
    """Draw the title of a page without a study, and what the page shows: as the title's help if
    `brief`, otherwise below it."""
    enter()
    with st.container(key="title"):
        st.title(title, anchor=False, help=lead if brief else None)
    if not brief:
        with st.container(width=PROSE):
            st.markdown(lead)


def enter() -> None:
    """Make sure that the page has its frame and its style; call it first. A server that has not run
    app.py yet runs the page of its first link alone; calling st.navigation makes it run app.py."""
    if not st.session_state.pop(ROUTED, False):  # set anew by app.py in every run
        # Without this icon the browser would fetch the page's Material icon from another server.
        st.set_page_config(page_icon=str(IMAGES / "mark-light.svg"))
        navigation()
        st.rerun()
    st.html(_colours(page_theme()))


def show_head(title: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Draw the first line of a study's page: its title; return two places at its right, for the
    origin of the result and the menu."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        st.title(title, anchor=False, width="content")
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            return st.container(width="content").empty(), st.container(width="content")


def _colours(theme: str) -> str:
    """Return the theme's colours of tooltips and links for the style sheet, which the server puts
    into the page (`ui.server.style`)."""
    background, link = (
        st.get_option(f"theme.{theme}.{name}") for name in ("secondaryBackgroundColor", "linkColor")
    )
    return f"<style>:root {{ --term-background: {background}; --link: {link}; }}</style>"


def show_logo() -> None:
    """Show the wordmark in the sidebar, or the icon where it is narrow, in the theme's colour."""
    theme = page_theme()
    st.logo(IMAGES / f"wordmark-{theme}.svg", icon_image=IMAGES / f"mark-{theme}.svg", size="large")


def show_sidebar() -> None:
    """Show device, store and mode in the sidebar; install the highlighting of charts."""
    from core.runs.store import default_store

    info, shared = default_store().info(), current_limits().shared
    with st.sidebar:
        st.html(_hover(), unsafe_allow_javascript=True)
    with st.sidebar, st.container(key="facts", gap="xxsmall"):
        st.caption(f":material/memory: {device_name()}")
        if info.trouble:  # where the store lies is for the machine's owner alone
            st.caption(
                ":material/warning: Results are shown but not kept at the moment.",
                help=STORE_SILENT if shared else plain(info.trouble),
            )
        else:
            entries = counted(info.entries, "entry", "entries")
            st.caption(
                f":material/database: Store: {in_bytes(info.bytes)}, {entries}",
                help=STORE_SHARED if shared else f"{STORED} {default_store().folder}",
            )
        if shared:
            st.caption(":material/group: Shared mode", help=_shared_help())
        else:
            st.caption(
                ":material/laptop_mac: Local mode",
                help="You can use models from a folder and long texts.",
            )


@cache
def _hover() -> str:
    """Return the script that highlights the line under the pointer; installed once per tab."""
    return f"<script>{HOVER.read_text(encoding='utf8')}</script>"


@cache
def device_name() -> str:
    """Name the device that runs the models."""
    device = "cpu"
    if "torch" in sys.modules or _may_have_gpu():
        from core.maths.devices import choose_device

        device = choose_device()
    cores = available_cores()
    if device != "cpu":
        return {"cuda": "Graphics card (CUDA)", "mps": "Apple GPU (MPS)"}.get(device, device)
    return f"CPU, {counted(cores, 'core')}"


def _may_have_gpu() -> bool:
    """Whether there may be a GPU: asking torch takes two seconds, too long for a first page."""
    return platform.system() != "Linux" or any(
        Path(device).exists() for device in ("/dev/nvidiactl", "/dev/dxg")
    )


def in_bytes(count: int) -> str:
    """Write a size: 0 B, 812 kB, 34 MB, 1.2 GB."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return (
                f"{count / size:.1f} {unit}"
                if count < 10 * size and unit == "GB"
                else f"{count / size:.0f} {unit}"
            )
    return f"{count} B"


def _shared_help() -> str:
    limits = current_limits()
    return (
        "Studies wait in one queue, and their results are shared. "
        f"The limits are models of {limits.max_parameters / 1e6:.0f} million parameters, "
        f"{limits.max_sentences:,} sentences and uploads of {in_bytes(limits.max_upload_bytes)}."
    )
