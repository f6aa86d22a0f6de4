"""A study in one line, made from its options: what matters always, the rest where it is not at its default.

seed-0 against parse-0, sentiment-0, nli-0; RSA; demo, 200 sentences; one occurrence per word
"""

from __future__ import annotations

from typing import Any

from core.options.option import Option, Spec, options_of

NAMED = 4  # of several values; the others are counted
JOINTS = "; ,"


def summary(spec: Spec, read: int | None = None) -> str:
    """The study in one line.

    An option that says how it is said (`Option.said`) is always there, an empty value apart; any other that has a
    control, only where it is not at its default, after its label.

    Args:
        spec: The study.
        read: How many sentences its text turned out to have, where that is known: fewer than were asked for are said.
    """
    parts = []
    for option in options_of(type(spec)):
        value = getattr(spec, option.name)
        if option.name == "sentences" and read is not None:
            value = min(value, read)
        if option.shown and (option.said or value != option.default):
            parts.append(say(option, value))
    return "".join(parts).lstrip(JOINTS)


def say(option: Option, value: Any) -> str:
    """One value with its joint, such as ", 200 sentences"; "" where there is nothing to say."""
    words = _words(option, value)
    if option.said:
        return option.said.format(words) if words else ""
    label = _lower(option.label)
    if option.kind == "flag":
        return f"; {label}" if value else f"; no {label}"
    return f"; {label}: {words or 'none'}"


def _words(option: Option, value: Any) -> str:
    """A value as a reader says it."""
    from core.results.names import short_name, short_names

    if option.kind in ("whole", "number"):
        return f"{value:,}"
    if option.kind == "model":
        return short_name(str(value))
    if option.kind == "models":
        return _listed(list(short_names(value).values()))
    if option.kind == "corpus":
        return str(value).rpartition("/")[2].removeprefix("upload:")
    titles = option.known if option.titled else {}
    if option.kind == "choices" and len(value) > NAMED:
        return f"{len(value)} {_lower(option.label)}"
    if option.many:
        return _listed([titles.get(str(part), str(part)) for part in value])
    return titles.get(str(value), str(value))


def _listed(names: list[str]) -> str:
    """The names, or the first of them and how many there are beside."""
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def _lower(text: str) -> str:
    """A label inside a line: a small letter first, abbreviations as they are."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
