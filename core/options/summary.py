"""A study's summary in one line: its main options, and the others that are not at their defaults.

seed-0 against parse-0, sentiment-0, nli-0; RSA; demo, 200 sentences; one occurrence per word
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.errors import listed
from core.options.option import Option, Spec, options_of

NAMED = 4  # values that are named; the others are counted
JOINTS = "; ,"
PATTERNS = {"zoo:*": "all included models", "zoo:*-*": "(all included)"}


def summary(spec: Spec, read: int | None = None) -> str:
    """Summarise the study in one line: options with a phrase unless empty, others that have a
    control where they are not at their default; `read` sentences, if known, replace a larger
    number."""
    parts = []
    for option in options_of(type(spec)):
        value = getattr(spec, option.name)
        if option.name == "sentences" and read is not None:
            value = min(value, read)
        if option.shown and (option.phrase or value != option.default):
            parts.append(say(option, value))
    return "".join(parts).lstrip(JOINTS)


def say(option: Option, value: Any) -> str:
    """Write a value with its separator, such as ", 200 sentences"; "" if it is empty."""
    words = _words(option, value)
    if option.phrase:
        phrase = option.phrase.removesuffix("s") if value == 1 else option.phrase
        return phrase.format(words) if words else ""
    label = _lower(option.label)
    if option.kind == "flag":
        return f"; {label}" if value else f"; no {label}"
    return f"; {label}: {words or 'none'}"


def unlike(spec: type[Spec], first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Say why the values of two results of one study cannot be subtracted; "" where they can.

    Args:
        spec: The study's, whose options say which of them define the values.
        first, second: The options of the results.
    """
    parts = [
        f"{_lower(option.label)}: "
        f"{_written(first, option.name)} and {_written(second, option.name)}"
        for option in options_of(spec)
        if option.defines
        and first.get(option.name) != second.get(option.name)
        and all(first.get(name) == value for name, value in option.where.items())
    ]
    if not parts:
        return ""
    return (
        f"The two results measure different things ({'; '.join(parts)}), so no difference is shown."
    )


def _written(options: Mapping[str, Any], name: str) -> str:
    """Write an option's value for a sentence."""
    value = options.get(name)
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if value not in ("", None) else "none"


def _words(option: Option, value: Any) -> str:
    """Write a value for a reader."""
    from core.results.names import short_name, short_names

    if option.kind in ("whole", "number"):
        return f"{value:,}"
    if option.kind == "model":
        return short_name(str(value))
    if option.kind == "models":
        return _listed([PATTERNS.get(ref, name) for ref, name in short_names(value).items()])
    if option.kind == "corpus":
        return str(value).rpartition("/")[2].removeprefix("upload:")
    titles = option.meanings if option.has_titles else {}
    if option.kind == "choices" and len(value) > NAMED:
        return f"{len(value)} {_lower(option.label)}"
    if option.many:
        return _listed([titles.get(str(part), str(part)) for part in value])
    return titles.get(str(value), str(value))


def _lower(text: str) -> str:
    """Write a label inside a line: lower case, except for abbreviations."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _listed(names: list[str]) -> str:
    """List the names, without an "and" where there are few."""
    return listed(names, NAMED) if len(names) > NAMED + 1 else ", ".join(names)
