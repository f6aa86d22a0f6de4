"""What a probe study was asked for, checked when it is made."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from core.checks import whole_between
from core.errors import SpecError
from core.models import parse_ref

PROBES = ("distance", "depth")
HEADS = {
    "auto": "the corpus's own heads, or a parser's where it has none",
    "corpus": "the corpus's own heads",
    "parser": "a parser's heads, whatever the corpus has",
}
MOST_DRAWS, MOST_SENTENCES, MOST_RANK = 10_000, 100_000, 8_192


@dataclass(frozen=True)
class ProbeSpec:
    """A probe study.

    Attributes:
        models: References; the first is the base that the others are compared with.
        corpus: CorpusRef, split 80/10/10 by a hash of the sentence. Not read where files are given.
        genres: Genres of the corpus to keep; all where empty.
        train: CorpusRef of the training sentences; the three go together.
        dev: CorpusRef of the sentences that decide when to stop.
        test: CorpusRef of the sentences that are scored.
        heads: One of `HEADS`.
        pipeline: The parser, where one is needed.
        probes: "distance", "depth" or both.
        rank: Rows of B; a model with fewer dimensions gets a probe of full rank.
        layers: Layers to probe; empty for all.
        limit: At most so many sentences (of the training file, where files are given).
        controls: Whether probes of control trees are trained too.
        untrained: Whether the first model with random weights is added, where no `random:` model is listed.
        draws: Bootstrap draws.
        seed: Of the maps, the order of batches, the control rules, the random trees and the bootstrap.
        epochs: Most passes over the training sentences.

    Raises:
        SpecError: For a value that makes no sense.
        ModelError: For a reference that names nothing.
    """

    models: tuple[str, ...]
    corpus: str = "demo"
    genres: tuple[str, ...] = ()
    train: str = ""
    dev: str = ""
    test: str = ""
    heads: str = "auto"
    pipeline: str = "box"
    probes: tuple[str, ...] = PROBES
    rank: int = 64
    layers: tuple[int, ...] = ()
    limit: int = MOST_SENTENCES
    controls: bool = True
    untrained: bool = True
    draws: int = 1_000
    seed: int = 0
    epochs: int = 40

    def __post_init__(self) -> None:
        for name in ("models", "genres", "probes", "layers"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not self.models:
            raise SpecError("Choose at least one model to probe.")
        object.__setattr__(self, "models", tuple(dict.fromkeys(str(parse_ref(ref)) for ref in self.models)))
        if self.heads not in HEADS:
            raise SpecError(f"heads must be one of {', '.join(HEADS)}, got {self.heads!r}.")
        if not self.probes or any(probe not in PROBES for probe in self.probes):
            raise SpecError(
                f"probes must be among {', '.join(PROBES)}, got {', '.join(map(str, self.probes)) or 'none'}."
            )
        object.__setattr__(self, "probes", tuple(probe for probe in PROBES if probe in self.probes))
        given = [bool(ref) for ref in (self.train, self.dev, self.test)]
        if any(given) and not all(given):
            raise SpecError("Files for train, dev and test go together: give all three, or a corpus to be split.")
        if not any(given) and not self.corpus:
            raise SpecError("Choose a corpus: demo is in the box.")
        if any(isinstance(layer, bool) or not isinstance(layer, int) or layer < 0 for layer in self.layers):
            raise SpecError(f"layers are whole numbers from 0 (embeddings) upward, got {self.layers}.")
        object.__setattr__(self, "layers", tuple(sorted(set(self.layers))))
        whole_between("rank", self.rank, 1, MOST_RANK)
        whole_between("limit", self.limit, 1, MOST_SENTENCES)
        whole_between("draws", self.draws, 20, MOST_DRAWS)
        whole_between("epochs", self.epochs, 1, 200)
        whole_between("seed", self.seed, 0, 2**31 - 1)

    @property
    def given_splits(self) -> bool:
        """Whether train, dev and test were given as files."""
        return bool(self.train)

    @property
    def probed(self) -> tuple[str, ...]:
        """The models listed, and the first of them untrained where that was asked for and none is."""
        refs = [parse_ref(ref) for ref in self.models]
        if not self.untrained or any(ref.random for ref in refs):
            return self.models
        return (*self.models, f"random:{self.models[0]}")

    def plain(self) -> dict[str, Any]:
        """The spec as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def short_name(ref: str) -> str:
    """A reference as a reader says it: `parse-0` for zoo:parse-0, `untrained seed-0` for random:zoo:seed-0."""
    random, rest = ref.startswith("random:"), ref.removeprefix("random:")
    kind, _, name = rest.partition(":")
    short = PurePath(name).name if kind in ("hub", "path") else name
    return f"{'untrained ' if random else ''}{short or rest}"
