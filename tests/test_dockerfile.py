"""The image that the Dockerfile describes has what the app reads, and asks for its health where the
app answers."""

from __future__ import annotations

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("app.py", "pages", "ui", "core", "zoo", ".streamlit/config.toml", "requirements.txt")
RECORDS = "zoo/work"  # how the box was made; the app reads none of it
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf8")


def ignored(path: str) -> bool:
    """Whether .dockerignore keeps a file, or a folder above it, out of the image."""
    patterns = (ROOT / ".dockerignore").read_text(encoding="utf8").split()
    above = [path, *(str(folder) for folder in Path(path).parents)]
    return any(fnmatch(one, pattern.removeprefix("**/")) for one in above for pattern in patterns)


def test_everything_that_the_app_reads_is_copied() -> None:
    done = subprocess.run(
        ["git", "ls-files", *NEEDED], cwd=ROOT, capture_output=True, text=True, check=False
    )
    files = [path for path in done.stdout.splitlines() if not path.startswith(RECORDS)]
    if not files:
        pytest.skip("not a git repository")
    assert all(any(path == one or path.startswith(f"{one}/") for path in files) for one in NEEDED)
    assert [path for path in files if ignored(path)] == []
    assert re.search(r"^COPY .* \. \.$", DOCKERFILE, re.MULTILINE)


def test_what_is_copied_by_name_is_there() -> None:
    for sources in re.findall(r"^COPY (?:--\S+ )*(.+) \S+$", DOCKERFILE, re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists(), source


def test_torch_is_named_once_for_the_index_without_cuda() -> None:
    pinned = re.findall(
        r"^torch==\S+$", (ROOT / "requirements.txt").read_text(encoding="utf8"), re.MULTILINE
    )
    assert len(pinned) == 1
    assert "grep '^torch==' requirements.txt" in DOCKERFILE


def test_health_is_asked_for_at_the_port_that_is_served() -> None:
    ports = {
        *re.findall(r"server\.port=(\d+)", DOCKERFILE),
        *re.findall(r"127\.0\.0\.1:(\d+)", DOCKERFILE),
    }
    assert ports == set(re.findall(r"^EXPOSE (\d+)$", DOCKERFILE, re.MULTILINE))
    assert re.search(r"^USER (?!root)", DOCKERFILE, re.MULTILINE)
