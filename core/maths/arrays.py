"""Names for what mathematics takes and returns beside plain arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

# str -> array | str | int | float | bool | None | list | dict. Any, because the caller knows what
# lies under a name.
Value: TypeAlias = dict[str, Any]

# Sentences as tuples of words.
Words = tuple[tuple[str, ...], ...]
