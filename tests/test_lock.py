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
    more = ("", "-dask", "-dev", "-docs")
    texts = [(ROOT / f"requirements{name}.txt").read_text("utf8") for name in more]
    pins = {plain(name): version for text in texts for name, version in PIN.findall(text)}
    locked = {package["name"]: package.get("version") for package in LOCKED}
    assert len(pins) > 150
    assert {name: locked.get(name) for name in pins} == pins, AGAIN


def test_what_the_package_asks_for_is_what_was_locked() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
    project, groups = settings["project"], settings["dependency-groups"]
    (ours,) = (package for package in LOCKED if package["name"] == project["name"])
    extras = [each for more in project["optional-dependencies"].values() for each in more]
    locked = bounds_of(ours["metadata"]["requires-dist"])
    assert locked == split([*project["dependencies"], *extras]), AGAIN
    groups["docs"] = [*groups["docs"][1:], *groups["test"]]  # which it includes
    locked_groups = ours["metadata"]["requires-dev"]
    assert {name: bounds_of(locked_groups[name]) for name in groups} == {
        name: split(lines) for name, lines in groups.items()
    }, AGAIN


def split(lines: list[str]) -> set[tuple[str, str]]:
    """Names and bounds of requirements."""
    found = (re.fullmatch(r"([\w.-]+)(\S*)", line) for line in lines)
    return {(plain(each[1]), each[2]) for each in found if each}


def bounds_of(entries: list[dict[str, str]]) -> set[tuple[str, str]]:
    """Names and bounds of what the lock says is asked for."""
    return {(entry["name"], entry["specifier"]) for entry in entries}


def test_files_are_of_the_public_index_and_have_hashes() -> None:
    others = [package for package in LOCKED if package["source"] != {"editable": "."}]
    assert len(others) == len(LOCKED) - 1
    for package in others:
        assert package["source"] == {"registry": "https://pypi.org/simple"}
        assert files(package), package["name"]
        for file in files(package):
            assert file["url"].startswith("https://files.pythonhosted.org/packages/")
            assert re.fullmatch(r"sha256:[0-9a-f]{64}", file["hash"])
