"""Pictures of every page and view, at three sizes and in both themes: `make screenshots`, to be
looked at.

Nothing is asserted here; the browser tests assert.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Error, Page, sync_playwright

from core.catalogue import STUDIES
from core.commands.precomputed import ON_REQUEST
from tests.browser.conftest import ARGUMENTS, CHROMIUM, GUIDED
from tests.browser.server import serve
from ui.frame.shell import PAGES
from ui.study.forms import views_of

SIZES = {"wide": (1280, 720), "phone": (420, 900)}
THEMES = ("light", "dark")
PATIENCE = 240_000  # milliseconds for a study
HIGHEST = 12_000  # pixels of a picture of a whole page
SETTLED = 1_500  # milliseconds for what moves


def views(path: str) -> tuple[str, ...]:
    """The views that a page offers, read from the page's own code; one nameless for a page
    without."""
    names: dict[str, Any] = {"__name__": "looked at"}
    before, _, form = Path(path).read_text(encoding="utf8").partition("\nform = ")
    if not form:
        return ("",)
    exec(compile(before, path, "exec", dont_inherit=True), names)
    (studies,) = re.findall(r"\bstudies=(\[.+\])", form)
    shown = [*eval(studies, names), *(each.study for each in names["EXPERIMENTS"].values())]
    return tuple(views_of(shown))


def with_figures(path: str) -> tuple[str, ...]:
    """Those of them that open with a figure: not of studies that run on request."""
    waiting = {view.name for name in ON_REQUEST for view in STUDIES[name].views}
    return tuple(view for view in views(path) if view not in waiting)


def places() -> Iterator[tuple[str, str]]:
    """Name and address of everything that is pictured."""
    for entry in PAGES:
        page = Path(entry.path).stem
        for view in with_figures(entry.path):
            query = f"?{urlencode({'view': view})}" if view else ""
            yield (
                "-".join([page, *view.lower().split()]),
                f"{'' if page == 'home' else page}{query}",
            )
    for page in ("rsa", "probe_trees", "weight_clustering", "seed_alignment"):
        yield f"{page}-lesson", f"{page}?lesson=1"
        yield f"{page}-presented", f"{page}?present=1"


def shoot(tab: Page, address: str, out: Path) -> str:
    """One picture of the screen and one of the whole page, once nothing runs any more; what went
    wrong, or ""."""
    tab.goto(address)
    try:
        tab.get_by_test_id("stHeading").first.wait_for(timeout=PATIENCE)
        tab.wait_for_timeout(SETTLED)
        tab.get_by_role("button", name="Cancel").wait_for(state="hidden", timeout=PATIENCE)
        tab.wait_for_timeout(SETTLED)
    except Error as error:
        return str(error).splitlines()[0]
    tab.screenshot(path=out.with_suffix(".png"))
    _shoot_whole(tab, out.with_name(f"{out.name}-whole.png"))
    return ""


def _shoot_whole(tab: Page, path: Path) -> None:
    """The page from its title to its end: it scrolls inside the window, so the window becomes as
    high as it is."""
    size = tab.viewport_size or {"width": 1280, "height": 720}
    high = tab.get_by_test_id("stMain").evaluate("node => node.scrollHeight")
    tab.set_viewport_size(
        {"width": size["width"], "height": min(max(high, size["height"]), HIGHEST)}
    )
    tab.wait_for_timeout(SETTLED)
    tab.screenshot(path=path)
    tab.set_viewport_size(size)


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the pictures; 1 if one could not be taken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("out/screenshots"), help="folder of the pictures"
    )
    parser.add_argument("--only", default="", help="only addresses that hold this text")
    asked = parser.parse_args(arguments)
    asked.out.mkdir(parents=True, exist_ok=True)
    missing = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(Path(folder)) as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        for size, (width, height) in SIZES.items():
            for theme in THEMES:
                tab = browser.new_page(
                    viewport={"width": width, "height": height}, color_scheme=theme
                )
                tab.add_init_script(GUIDED)
                for name, address in places():
                    if asked.only not in address:
                        continue
                    problem = shoot(tab, f"{url}/{address}", asked.out / f"{name}-{size}-{theme}")
                    missing += bool(problem)
                    print(f"{name} {size} {theme} {problem}".rstrip(), flush=True)
                tab.close()
        browser.close()
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
