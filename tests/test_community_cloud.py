"""The entry and the requirements of deploy/community-cloud start the app as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import ROOT
from tests.browser.server import ENTRY, started
from tests.load.tab import Tab, run_alone

FOLDER = ROOT / "deploy" / "community-cloud"
INDEX = "https://download.pytorch.org/whl/cpu/"
PYTHONS = ("3.11", "3.12", "3.13")


def lines() -> list[str]:
    """What the requirements file says, without its comments."""
    text = (FOLDER / "requirements.txt").read_text(encoding="utf8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_everything_but_torch_comes_from_the_root() -> None:
    (included,) = [line for line in lines() if line.startswith("-")]
    assert (FOLDER / included.removeprefix("-r ")).resolve() == ROOT / "requirements.txt"
    assert {Requirement(line).name for line in lines() if line != included} == {"torch"}


@pytest.mark.parametrize("python", PYTHONS)
def test_torch_is_the_pinned_version_without_cuda(python: str) -> None:
    pinned = re.search(
        r"^torch==(\S+)$", (ROOT / "requirements.txt").read_text(encoding="utf8"), re.MULTILINE
    )
    offered = [Requirement(line) for line in lines() if not line.startswith("-")]
    fitting = [
        one for one in offered if one.marker and one.marker.evaluate({"python_version": python})
    ]
    (torch,) = fitting
    tag = f"cp{python.replace('.', '')}"
    assert pinned is not None
    assert torch.url is not None
    assert torch.url.startswith(f"{INDEX}torch-{pinned[1]}%2Bcpu-{tag}-{tag}-manylinux")
    assert torch.url.endswith("x86_64.whl")


@pytest.mark.slow
def test_the_entry_serves_the_pages_in_shared_mode(tmp_path: Path) -> None:
    # as the host starts it: no mode is set
    with started([*ENTRY[:-1], str(FOLDER / "streamlit_app.py")], tmp_path) as (_, address):
        run_alone(_walk(address))
    log = (tmp_path / "log.txt").read_text(encoding="utf8", errors="replace")
    assert "Traceback" not in log


async def _walk(address: str) -> None:
    async with Tab(address) as tab:
        links = set()
        for page in ("rsa", "", "weight_clustering"):  # the first is a link
            await tab.open(page)
            await tab.until(lambda tab: tab.settled and (tab.charts() or tab.text()))
            assert tab.errors() == []
            links |= {link.page for link in tab.of_type("page_link")}
        captions = "\n".join(part.body for part in tab.of_type("markdown"))
        assert "Shared mode" in captions
        assert {"rsa", "probe_trees", "weight_clustering", "seed_alignment"} <= links
