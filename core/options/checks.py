"""Checks of the kinds of options: return the value in its final form or raise an error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from core.errors import SpecError
from core.models.references import is_of_revisions, is_pattern, parse_ref
from core.options.layer_numbers import ALL_LAYERS, EVERY_LAYER
from core.options.option import (
    CHECKS,
    LONGEST_LINE,
    LONGEST_NAME,
    LONGEST_VALUE,
    MOST_LAYERS,
    Option,
    number_of,
)


def _accepted(option: Option, value: Any, fits: bool) -> Any:
    """Return a value that fits, and refuse any other."""
    if not fits:
        raise option.refuse(value)
    return value


def _check_whole(option: Option, value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():  # as number inputs of a form give it
        value = int(value)
    return _accepted(option, value, _is_within(option, value, int))


def _check_number(option: Option, value: Any) -> float:
    return float(_accepted(option, value, _is_within(option, value, int | float)))


def _is_within(option: Option, value: Any, kind: Any) -> bool:
    """Whether a value is a number of this kind within the option's bounds, which NaN is not."""
    number = isinstance(value, kind) and not isinstance(value, bool)
    return number and option.low <= value <= option.high


def _check_flag(option: Option, value: Any) -> Any:
    return _accepted(option, value, isinstance(value, bool))


def _check_choice(option: Option, value: Any) -> Any:
    return _accepted(option, value, isinstance(value, str) and value in option.meanings)


def _check_choices(option: Option, value: Any) -> tuple[str, ...]:
    given, choices = _several(option, value), option.meanings
    unknown = [part for part in given if not isinstance(part, str) or part not in choices]
    if unknown:
        raise option.refuse(unknown[0])
    if len(given) < option.low:
        raise SpecError(f"{option.name} needs at least {option.low}: {option.takes()}.")
    return tuple(name for name in choices if name in given)


def _check_model(option: Option, value: Any) -> str:
    return str(parse_ref(_accepted(option, value, isinstance(value, str))))


def _check_pattern(option: Option, value: Any) -> str:
    """Check a reference or a pattern of references, whose kind must be allowed here."""
    if not isinstance(value, str) or not is_pattern(value):
        return _check_model(option, value)
    kind, _, name = value.strip().partition(":")
    if is_of_revisions(value):
        _check_model(option, f"{kind}:{name.partition('@')[0]}")
    elif kind not in ("zoo", "path") or not name:
        raise SpecError(
            f"{option.name}: {value[:LONGEST_VALUE]!r} is a pattern; patterns work for zoo:, path: "
            "and revisions (hub:NAME@step*) only. Name the models one by one."
        )
    else:
        _check_model(option, f"{kind}:x")
    return f"{kind}:{name}"


def matching_presets(option: Option, value: Any) -> tuple[Any, ...]:
    """Expand a pattern of public models such as hub:google/multiberts-seed_*; return anything else
    unchanged.

    Raises:
        SpecError: If no listed public model matches the pattern.
    """
    if (
        not isinstance(value, str)
        or not value.strip().startswith("hub:")
        or not is_pattern(value)
        or (option.patterns and is_of_revisions(value))
    ):
        return (value,)
    from fnmatch import fnmatchcase

    from core.models.hub.collections import public_refs

    presets = tuple(ref for ref in public_refs() if fnmatchcase(ref, value.strip()))
    if not presets:
        raise SpecError(
            f"{option.name}: "
            f"{value[:LONGEST_VALUE]!r} matches none of the public models listed here. "
            "Name the models one by one, or use hub:google/multiberts-seed_* for all MultiBERTs."
        )
    return presets


def _check_models(option: Option, value: Any) -> tuple[str, ...]:
    check = _check_pattern if option.patterns else _check_model
    named = [ref for part in _several(option, value) for ref in matching_presets(option, part)]
    refs = tuple(dict.fromkeys(check(option, part) for part in named))
    if len(refs) < option.low and not any(map(is_pattern, refs)):  # what one matches is not known
        raise SpecError(f"Choose at least {option.low} under {option.label} ({option.name}).")
    if len(refs) > option.high:
        raise option.refuse(f"{len(refs)}")
    return refs


def _check_corpus(option: Option, value: Any) -> str:
    from core.text.corpora import corpus_problem

    value = _accepted(option, value, isinstance(value, str)).strip()
    if not value and not option.default:
        return ""
    problem = corpus_problem(value)
    if problem:
        raise SpecError(f"{option.name}: {problem}")
    return cast(str, value)


def _check_layers(option: Option, value: Any) -> tuple[int, ...]:
    given: tuple[Any, ...] = tuple(
        number_of(layer) if isinstance(layer, str) and layer != ALL_LAYERS else layer
        for layer in _several(option, value)
    )
    if any(layer in (ALL_LAYERS, EVERY_LAYER) for layer in given):
        return (EVERY_LAYER,)
    for layer in given:
        if isinstance(layer, bool) or not isinstance(layer, int) or not 0 <= layer <= MOST_LAYERS:
            raise option.refuse(layer)
    return tuple(dict.fromkeys(given))


def _check_words(option: Option, value: Any) -> tuple[str, ...]:
    given = _several(option, value)
    if sum(len(_check_line(option, word)) for word in given) > LONGEST_LINE:
        raise option.refuse(" ".join(given))
    return tuple(word.strip() for word in given if word.strip())


def _check_names(option: Option, value: Any) -> tuple[str, ...]:
    """Check pairs of a reference and a name; two models may not share one."""
    pairs = [_named(option, part) for part in _several(option, value)]
    if len(pairs) > option.high:
        raise option.refuse(f"{len(pairs)} names")
    for parts in zip(*pairs, strict=True):
        repeated = [part for part in parts if parts.count(part) > 1]
        if repeated:
            raise option.refuse(f"{repeated[0]} twice")
    return tuple("=".join(pair) for pair in pairs)


def _named(option: Option, part: Any) -> tuple[str, str]:
    ref, _, name = part.partition("=") if isinstance(part, str) else ("", "", "")
    ref, name = ref.strip(), name.strip()
    fits = 0 < len(ref) <= LONGEST_VALUE and 0 < len(name) <= LONGEST_NAME
    if not fits or not (ref + name).isprintable():
        raise option.refuse(part)
    return ref, name


def _check_line(option: Option, value: Any) -> Any:
    return _accepted(option, value, isinstance(value, str) and len(value) <= LONGEST_LINE)


def _several(option: Option, value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        shown = value[:LONGEST_VALUE]
        raise SpecError(
            f"{option.name} takes {option.takes()}, as a list: "
            f"give [{shown!r}] in place of {shown!r}."
        )
    if not isinstance(value, Iterable):
        raise option.refuse(value)
    return tuple(value)


CHECKS |= {
    "whole": _check_whole,
    "number": _check_number,
    "flag": _check_flag,
    "choice": _check_choice,
    "choices": _check_choices,
    "genres": _check_choices,
    "model": _check_model,
    "models": _check_models,
    "corpus": _check_corpus,
    "layers": _check_layers,
    "words": _check_words,
    "names": _check_names,
    "line": _check_line,
    "passage": _check_line,
}
