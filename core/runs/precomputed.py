"""Precomputed results: stored values in one read-only file, under the store's keys.

The file is a zip archive of safetensors bytes, an entry for each key; in byte planes where that is
smaller, which the entry's suffix says. Nothing of it is read before it is asked for. Each entry has
its checksum; an entry or a file that is damaged is a miss, as in the store, and is computed again.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from core.runs.encoding import byte_planes
from core.runs.process.remembered import file_state, remembered

FILE = "answers/answers.zip"  # in the folder of the included models
VARIABLE = "PALIMPSEST_PRECOMPUTED"
ALIAS = "PALIMPSEST_ANSWERS"  # its name before version 0.5
NONE = "none"
SUFFIX, IN_PLANES = ".safetensors", ".planes"
BESIDE = Path(__file__).resolve().parents[2] / "zoo"
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
                        entry = archive.getinfo(f"{key}{places[key]}")
                        if entry.file_size <= room and entry.compress_type == ZIP_DEFLATED:
                            room -= entry.file_size
                            payload = archive.read(entry)  # never more than the size that it says
                            payloads[key] = (
                                byte_planes(payload, back=True)
                                if places[key] == IN_PLANES
                                else payload
                            )
        return payloads

    def _places(self) -> Mapping[str, str]:
        try:
            return _suffixes(self.path)
        except TROUBLE:
            return {}


@remembered(8, state=file_state)
def _suffixes(path: Path) -> Mapping[str, str]:
    with ZipFile(path) as archive:
        names = (Path(name) for name in archive.namelist())
        return {name.stem: name.suffix for name in names if name.suffix in (SUFFIX, IN_PLANES)}


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
            suffix, payload = _smaller(values[key])
            entry = ZipInfo(f"{key}{suffix}", BEGINNING)
            entry.compress_type, entry.create_system, entry.external_attr = (
                ZIP_DEFLATED,
                3,
                0o644 << 16,
            )
            archive.writestr(entry, payload, compresslevel=9)
    partial.replace(path)


def _smaller(payload: bytes) -> tuple[str, bytes]:
    """Choose the form of a value that compresses to fewer bytes, and its suffix."""
    forms = {SUFFIX: payload, IN_PLANES: byte_planes(payload)}
    return min(forms.items(), key=lambda form: len(zlib.compress(form[1], 9)))


def zoo_folder() -> Path:
    """Folder of the included models: `PALIMPSEST_ZOO`, or `zoo/` beside `core/`."""
    return Path(os.environ.get("PALIMPSEST_ZOO") or BESIDE)


def included_precomputed() -> Precomputed:
    """Open the precomputed results of the included models."""
    return Precomputed(zoo_folder() / FILE)


def default_precomputed() -> Precomputed | None:
    """Open the precomputed results, or those in `PALIMPSEST_PRECOMPUTED`; none if it is `none`."""
    named = os.environ.get(VARIABLE, os.environ.get(ALIAS, "")).strip()
    if named == NONE:
        return None
    return Precomputed(Path(named).expanduser().absolute()) if named else included_precomputed()
