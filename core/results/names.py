"""One short name for a model in headlines, charts and tables; figures may rename it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import PurePath
from types import MappingProxyType

from core.errors import by_number, listed

_NAMES: ContextVar[Mapping[str, str]] = ContextVar("names", default=MappingProxyType({}))


@contextmanager
def renamed(names: Mapping[str, str]) -> Iterator[None]:
    """Call models by these names while a figure is drawn inside: reference -> name.

    Example:
        >>> with renamed({"zoo:parse-0": "Parser"}):
        ...     short_name("zoo:parse-0")
        'Parser'
    """
    before = _NAMES.set(names)
    try:
        yield
    finally:
        _NAMES.reset(before)


def short_name(ref: str) -> str:
    """Name a model for readers: its name inside `renamed`, or the last part of its reference.

    Example:
        >>> short_name("hub:organisation/model"), short_name("random:zoo:seed-0")
        ('model', 'untrained seed-0')
    """
    if ref in _NAMES.get():
        return _NAMES.get()[ref]
    random, _, rest = ref.rpartition("random:")
    kind, _, name = rest.partition(":")
    short = PurePath(name).name if kind in ("hub", "path") else name
    return f"untrained {short or ref}" if random or ref.startswith("random:") else short or ref


def short_names(refs: Iterable[str]) -> dict[str, str]:
    """Name each model by its short name; folders that share one get the folders above it as far as
    needed, other models keep their references.

    Example:
        >>> list(short_names(["path:/a/full/step-3", "path:/b/frozen/step-3"]).values())
        ['full/step-3', 'frozen/step-3']
    """
    names = {ref: short_name(ref) for ref in refs}
    taken = list(names.values())
    shared = {ref: name for ref, name in names.items() if taken.count(name) > 1}
    parts = {ref: PurePath(ref).parts for ref in shared if ref.startswith("path:")}
    for length in range(2, max(map(len, parts.values()), default=0)):
        tails = {ref: "/".join(part[-length:]) for ref, part in parts.items()}
        if len({*tails.values()}) == len(tails):
            return names | {ref: ref for ref in shared} | tails
    return names | {ref: ref for ref in shared}


def layers_in_words(layers: Sequence[int], to: str = " to ") -> str:
    """Name layers in order: "layer 2", "layers 2 and 3", "layers 2 to 6", "layers 1, 3 and 6", "no
    layer".

    Example:
        >>> layers_in_words([2, 3, 4]), layers_in_words([1, 3])
        ('layers 2 to 4', 'layers 1 and 3')
    """
    noun = by_number(len(layers), "layer", "layers")
    return f"{noun} {layer_numbers(layers, to)}" if layers else "no layer"


def layer_numbers(layers: Sequence[int], to: str = " to ") -> str:
    """Write the numbers of layers: "2", "2 and 3", "2 to 6"; arguments as for `layers_in_words`."""
    if len(layers) > 2 and list(layers) == list(range(layers[0], layers[-1] + 1)):
        return f"{layers[0]}{to}{layers[-1]}"
    return listed([str(layer) for layer in layers])


def corpus_name(ref: str, genres: Iterable[str]) -> str:
    """Name a corpus as charts and tables do: its reference and, in brackets, its genres."""
    named = ", ".join(genres)
    return f"{ref} ({named})" if named else ref
