"""The image that the Dockerfile describes has what the app reads, and asks for its health where the
app answers."""

from __future__ import annotations

import re
import subprocess

import pytest
import yaml

from tests import ROOT
from tests.image import ignored, steps

NEEDED = (
    "app.py",
    "deploy",
    "pages",
    "ui",
    "core",
    "extras",
    "pyproject.toml",
    "zoo",
    ".streamlit/config.toml",
    "requirements.txt",
)
RECORDS = "zoo/work"  # how the box was made; the app reads none of it
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf8")


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


def test_a_space_is_told_the_port_that_is_served() -> None:
    _, header, text = (ROOT / "deploy/space/README.md").read_text(encoding="utf8").split("---\n")
    told = yaml.safe_load(header)
    assert told["sdk"] == "docker"
    assert f"EXPOSE {told['app_port']}" in DOCKERFILE
    assert len(told["short_description"]) <= 60  # Spaces takes no longer one
    assert text.strip()
    named = (ROOT / "docs/deployment.md").read_text(encoding="utf8")
    assert "cp deploy/space/README.md README.md" in named


def test_health_is_asked_for_at_the_port_that_is_served() -> None:
    ports = {
        *re.findall(r"server\.port=(\d+)", DOCKERFILE),
        *re.findall(r"127\.0\.0\.1:(\d+)", DOCKERFILE),
    }
    assert ports == set(re.findall(r"^EXPOSE (\d+)$", DOCKERFILE, re.MULTILINE))
    assert re.search(r"^USER (?!root)", DOCKERFILE, re.MULTILINE)


def test_steps_are_split_as_docker_splits_them() -> None:
    text = "# why\nFROM a\n\nRUN one \\\n    && two\nCMD x\n"
    assert steps(text) == [("FROM", "a"), ("RUN", "one  && two"), ("CMD", "x")]
    names = [name for name, _ in steps(DOCKERFILE)]
    assert names.index("USER") < names.index("COPY") < names.index("CMD")
    assert {"FROM", "RUN", "USER", "WORKDIR", "ENV", "COPY", "VOLUME", "EXPOSE"} <= {*names}


def test_what_docker_ignores_is_left_out() -> None:
    assert ignored("tests/image.py")
    assert ignored("core/__pycache__/study.pyc")
    assert not ignored("core/study.py")
