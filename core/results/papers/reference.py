"""References by their keys, as studies, measures and reports cite them: the line in a list of
references, and the BibTeX entry.

Papers are records of `references.toml`, checked as all words are; a library of BibTeX reads files
of any kind, where only entries of four kinds are written here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core import __version__
from core.errors import PalimpsestError, listed
from core.results.words import as_record, read_toml

Kind = Literal["inproceedings", "article", "book", "misc"]
VENUE: dict[Kind, str] = {
    "inproceedings": "booktitle",
    "article": "journal",
    "book": "publisher",
    "misc": "howpublished",
}
MOST_NAMED = 4  # largest number of authors in a line; of more, only the first is named
ACCENTS = {
    "\N{COMBINING ACUTE ACCENT}": "'",
    "\N{COMBINING GRAVE ACCENT}": "`",
    "\N{COMBINING DIAERESIS}": '"',
}
SPECIAL = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


@dataclass(frozen=True)
class Reference:
    """A paper, a book or a program.

    Attributes:
        key: Its key in studies and BibTeX.
        year: None where unknown.
        kind: The BibTeX entry's type, one of `VENUE`.
        authors: "Family name, given names" of each; a name without a comma is that of a group.
            Empty where unknown.
        title: As printed.
        venue: Conference, journal or publisher; "" where there is none, and for a preprint.
        doi: "" where unknown.
        arxiv: Identifier at arXiv; "" where unknown.
        version: Of a program.
    """

    key: str
    year: int | None
    kind: Kind
    authors: tuple[str, ...]
    title: str
    venue: str = ""
    doi: str = ""
    arxiv: str = ""
    version: str = ""

    @property
    def line(self) -> str:
        """The line in a list of references."""
        named = f"{self._names()} {self.year}" if self.authors else ""
        place = f"doi:{self.doi}" if self.doi else f"arXiv {self.arxiv}" if self.arxiv else ""
        version = f"Version {self.version}" if self.version else ""
        parts = [part for part in (named, self.title, version, self.venue, place) if part]
        return " ".join(part if part.endswith(("?", "!", ".")) else f"{part}." for part in parts)

    def _names(self) -> str:
        """Family names, or the first one where there are more than `MOST_NAMED`."""
        families = [author.partition(",")[0] for author in self.authors]
        if len(families) > MOST_NAMED:
            return f"{families[0]} et al."
        return listed(families, word="&")

    def bibtex(self, note: str = "") -> str:
        """Write the BibTeX entry, with a note."""
        fields = {
            "author": " and ".join(
                _escaped(name) if "," in name else f"{{{_escaped(name)}}}" for name in self.authors
            ),
            "title": f"{{{_escaped(self.title)}}}",  # braces: capitals stay as they are
            VENUE[self.kind]: _escaped(self.venue),
            "year": "" if self.year is None else str(self.year),
            "doi": self.doi,
            "eprint": self.arxiv,
            "archiveprefix": "arXiv" if self.arxiv else "",
            "note": _escaped(
                ". ".join(filter(None, (f"Version {self.version}" if self.version else "", note)))
            ),
        }
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
        return f"@{self.kind}{{{self.key},\n{lines}\n}}"


PALIMPSEST = Reference(
    "palimpsest", 2026, "misc", ("the Palimpsest authors",),
    "Palimpsest: what fine-tuning and pretraining seeds do to a Transformer", version=__version__,
)  # fmt: skip
FILE = Path(__file__).with_name("references.toml")
PAPERS = tuple(
    as_record(Reference, {"key": key, "year": None} | record, f"{FILE}: {key}")
    for key, record in sorted(read_toml(FILE).items())
)
REGISTRY = {reference.key: reference for reference in (PALIMPSEST, *PAPERS)}


def cite(keys: Iterable[str]) -> tuple[Reference, ...]:
    """Look up references by their keys, each once, in the order of their first mention.

    Raises:
        PalimpsestError: If a key is not in the registry.
    """
    named = tuple(dict.fromkeys(keys))
    absent = [key for key in named if key not in REGISTRY]
    if absent:
        raise PalimpsestError(
            f"There is no reference {absent[0]!r}: add it to core/results/papers/{FILE.name}."
        )
    return tuple(REGISTRY[key] for key in named)


def bibtex(references: Iterable[Reference], study: str) -> str:
    """Write the references and the program itself as BibTeX entries."""
    entries = [
        reference.bibtex() for reference in dict.fromkeys(references) if reference != PALIMPSEST
    ]
    return "\n\n".join([*entries, PALIMPSEST.bibtex(f"Study: {study}")]) + "\n"


def _escaped(text: str) -> str:
    """Escape special characters for LaTeX and write accented letters as commands."""
    return "".join(SPECIAL.get(letter) or _accented(letter) for letter in text)


def _accented(letter: str) -> str:
    parts = unicodedata.normalize("NFD", letter)
    return (
        f"{{\\{ACCENTS[parts[1]]}{parts[0]}}}"
        if len(parts) == 2 and parts[1] in ACCENTS
        else letter
    )
