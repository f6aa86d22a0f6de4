"""`uv.lock` has the versions of requirements.txt, with hashes, from the public index alone."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from tests import ROOT

LOCKED = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf8"))["package"]
PIN = re.compile(r"^([\w.-]+)==(\S+)$", re.MULTILINE)
AGAIN = "make lock"


def plain(name: str) -> str:
    """A distribution's name as indices write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def files(package: dict[str, Any]) -> list[dict[str, Any]]:
    """A package's files."""
    return [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else [])]


def test_every_pin_is_locked_at_its_version() -> None:
    texts = [(ROOT / f"requirements{more}.txt").read_text("utf8") for more in ("", "-dask")]
    pins = {plain(name): version for text in texts for name, version in PIN.findall(text)}
    locked = {package["name"]: package.get("version") for package in LOCKED}
    assert len(pins) > 90
    assert {name: locked.get(name) for name in pins} == pins, AGAIN


def test_what_the_package_asks_for_is_what_was_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    (ours,) = (package for package in LOCKED if package["name"] == project["name"])
    extras = [each for more in project["optional-dependencies"].values() for each in more]
    asked = {
        (plain(name), bounds)
        for name, bounds in (
            re.fullmatch(r"([\w.-]+)(\S*)", each).groups()  # type: ignore[union-attr]
            for each in (*project["dependencies"], *extras)
        )
    }
    locked = {(each["name"], each["specifier"]) for each in ours["metadata"]["requires-dist"]}
    assert locked == asked, AGAIN


def test_files_are_of_the_public_index_and_have_hashes() -> None:
    others = [package for package in LOCKED if package["source"] != {"editable": "."}]
    assert len(others) == len(LOCKED) - 1
    for package in others:
        assert package["source"] == {"registry": "https://pypi.org/simple"}
        assert files(package), package["name"]
        for file in files(package):
            assert file["url"].startswith("https://files.pythonhosted.org/packages/")
            assert re.fullmatch(r"sha256:[0-9a-f]{64}", file["hash"])
