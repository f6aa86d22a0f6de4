"""Values as safetensors bytes, and keys as sha256 strings.

A value is a dictionary of arrays and JSON values. The arrays are safetensors' tensors, the rest is
JSON in its metadata: bytes that anyone can read without running code. A key is the sha256 of
canonical JSON, so that it says what was computed and never who, where or in which process."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from core.maths.arrays import Value

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64"),
)
METADATA = "palimpsest"
LEAVES = frozenset({str, int, float, bool, type(None)})


def key_of(*parts: object) -> str:
    """Calculate the sha256 hex of the parts as canonical JSON, equal on every machine. A tuple and
    a list are the same; 1, 1.0, True and "1" differ. Raises TypeError for what is not JSON."""
    _check(parts)
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def identified(identity: str) -> str:
    """Return the identity; raises ValueError if it is empty, under which all that could not be
    identified would share what is stored."""
    if not isinstance(identity, str) or not identity.strip():
        raise ValueError("nothing is stored or looked up under an empty identity")
    return identity


def encode(value: Value) -> bytes:
    """Encode a value as safetensors bytes. Raises TypeError if a name is not a string, or a value
    neither an array of `DTYPES` nor JSON."""
    from safetensors.numpy import save

    arrays: dict[str, np.ndarray] = {}
    plain: dict[str, Any] = {}
    for name, item in value.items():
        if not isinstance(name, str) or name == "__metadata__":
            raise TypeError(f"a value's names are strings other than '__metadata__', not {name!r}")
        if isinstance(item, np.ndarray):
            if item.dtype.newbyteorder("=").name not in DTYPES:
                raise TypeError(
                    f"the array {name!r} is of type {item.dtype}; "
                    f"the store keeps {', '.join(sorted(DTYPES))}"
                )
            arrays[name] = np.asarray(item, dtype=item.dtype.newbyteorder("="), order="C")
        else:
            plain[name] = item.item() if isinstance(item, np.generic) else item
            _check(plain[name])
    header = json.dumps({"order": list(value), "json": plain}, separators=(",", ":"))
    return save(arrays, metadata={METADATA: header})


def decode(payload: bytes) -> Value:
    """Decode what `encode` wrote; tuples become lists. Raises OSError if the bytes are damaged or
    foreign."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        length = int.from_bytes(payload[:8], "little")
        header = json.loads(json.loads(payload[8 : 8 + length])["__metadata__"][METADATA])
        order, plain = header["order"], header["json"]
        if (
            not isinstance(plain, dict)
            or not isinstance(order, list)
            or not all(isinstance(n, str) for n in order)
        ):
            raise ValueError("its names are not strings")
        arrays = load(payload)
        return {name: arrays[name] if name in arrays else plain[name] for name in order}
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise OSError(f"not a stored value: {error}") from error


def byte_planes(payload: bytes, *, back: bool = False) -> bytes:
    """Sort an encoded value's bytes by their place in a number, all first bytes of an array before
    all second ones, which compresses better, or sort them `back`. Raises OSError for foreign
    bytes."""
    start = 8 + int.from_bytes(payload[:8], "little")
    body = np.frombuffer(payload[start:], np.uint8).copy()
    try:
        for name, entry in json.loads(payload[8:start]).items():
            if name != "__metadata__":
                width = int(re.sub(r"\D", "", entry["dtype"]) or 8) // 8  # BOOL names no width
                place = slice(*entry["data_offsets"])
                body[place] = body[place].reshape((width, -1) if back else (-1, width)).T.ravel()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise OSError(f"not a stored value: {error}") from error
    return payload[:start] + body.tobytes()


def decode_sound(payloads: Mapping[str, bytes]) -> dict[str, Value]:
    """Decode values by key, leaving out damaged ones."""
    values: dict[str, Value] = {}
    for key, payload in payloads.items():
        with contextlib.suppress(OSError):
            values[key] = decode(payload)
    return values


def _check(item: Any) -> None:
    """Check that the item is JSON, as `json.dumps` writes it: tuples are lists."""
    if isinstance(item, (tuple, list)):
        for part in item:
            if type(part) not in LEAVES:  # long texts are words: no call for each of them
                _check(part)
    elif isinstance(item, dict):
        wrong = [name for name in item if not isinstance(name, str)]
        if wrong:
            raise TypeError(f"names in a dictionary are strings, not {wrong[0]!r}")
        _check(list(item.values()))
    elif item is not None and not isinstance(item, (str, bool, int, float)):
        raise TypeError(
            f"{type(item).__name__} is neither str, int, float, bool, None nor a tuple, "
            "list or dict of them"
        )
