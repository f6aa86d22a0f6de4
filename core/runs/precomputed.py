"""Precomputed results: stored values in one read-only file, under the store's keys.

The file is a zip archive of safetensors bytes, an entry for each key. Nothing of it is read before
it is asked for. Each entry has its checksum; an entry or a file that is damaged is a miss, as in
the store, and is computed again.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

FILE = "answers/answers.zip"  # in the folder of the included models
VARIABLE = "PALIMPSEST_PRECOMPUTED"
ALIAS = "PALIMPSEST_ANSWERS"  # its name before version 0.5
NONE = "none"
SUFFIX = ".safetensors"
MODELS = Path(__file__).resolve().parents[2] / "zoo"
LARGEST = 2**28  # bytes read at once; larger entries count as missing, as a defence
BEGINNING = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that equal content gives equal bytes
TROUBLE = (OSError, BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, KeyError)


class Precomputed:
    """Stored values in one file, by key."""

    def __init__(self, path: Path) -> None:
        """`path`: the file; one that is missing or damaged holds nothing."""
        self.path = path

    def __contains__(self, key: str) -> bool:
        return key in self._places()

    def keys(self) -> tuple[str, ...]:
        """All keys, sorted."""
        return tuple(sorted(self._places()))

    def get_many(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Read the values of those keys that are present and sound."""
        places = self._places()
        wanted = [key for key in keys if key in places]
        payloads: dict[str, bytes] = {}
        if wanted:
            with contextlib.suppress(*TROUBLE), ZipFile(self.path) as archive:
                room = LARGEST
                for key in wanted:
                    with contextlib.suppress(*TROUBLE):
                        entry = archive.getinfo(f"{key}{SUFFIX}")
                        if entry.file_size <= room and entry.compress_type == ZIP_DEFLATED:
                            payloads[key] = archive.read(
                                entry
                            )  # never more than the size that it says
                            room -= entry.file_size
        return payloads

    def _places(self) -> frozenset[str]:
        try:
            return _keys(self.path, self.path.stat().st_mtime_ns)
        except TROUBLE:
            return frozenset()


@lru_cache(maxsize=8)
def _keys(path: Path, changed: int) -> frozenset[str]:
    with ZipFile(path) as archive:
        return frozenset(
            name.removesuffix(SUFFIX) for name in archive.namelist() if name.endswith(SUFFIX)
        )


def write_precomputed(path: Path, values: Mapping[str, bytes]) -> None:
    """Write the file; the same values give the same bytes.

    Args:
        path: Where to; nobody ever sees a part of it.
        values: What `encode` made of each value, by key.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.part")
    with ZipFile(partial, "w") as archive:
        for key in sorted(values):
            entry = ZipInfo(f"{key}{SUFFIX}", BEGINNING)
            entry.compress_type, entry.create_system, entry.external_attr = (
                ZIP_DEFLATED,
                3,
                0o644 << 16,
            )
            archive.writestr(entry, values[key], compresslevel=9)
    partial.replace(path)


def default_precomputed() -> Precomputed | None:
    """Open the precomputed results, or those in `PALIMPSEST_PRECOMPUTED`; none if it is `none`."""
    named = os.environ.get(VARIABLE, os.environ.get(ALIAS, "")).strip()
    if named == NONE:
        return None
    box = Path(os.environ.get("PALIMPSEST_ZOO") or MODELS)
    return Precomputed(Path(named).expanduser().absolute() if named else box / FILE)
