"""What a stranger might hand to a reader: valid samples, bent; and values that upset parsers.
Seeded, so repeatable."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from core.errors import PalimpsestError

EXAMPLES = 10_000
NASTY = (
    *(
        "",
        " ",
        "\0",
        "\n",
        "\r\n",
        "\t",
        "\ufeff",
        "\u2028",
        "\ud7ff",
        "\U0001f469‍\U0001f680",
        "e\u0301",
        "\x1b[31m",
    ),
    *(
        "~nosuchuser",
        "..",
        "/",
        "//",
        "\\",
        "%00",
        "@",
        ":",
        "#",
        "*",
        "?",
        "(",
        "((((((((",
        "[[[[[[[[",
        "{",
        "}",
        '"',
    ),
    *(
        "random:",
        "zoo:",
        "hub:",
        "path:",
        "demo",
        "demo:",
        ".txt",
        ".conllu",
        ".gz",
        "null",
        "true",
        "NaN",
        "Infinity",
    ),
    *(
        "-Infinity",
        "1e999",
        "-1",
        "0",
        "1.5",
        "9" * 40,
        "9" * 5_000,
        "٣",
        "²",
        "1-2",
        "1.1",
        "_",
        "x" * 6_000,
        "a b",
    ),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        1.5,
        2**31,
        2**63,
        10**400,
        float("inf"),
        float("-inf"),
        float("nan"),
        "",
        "x",
    ),
    *(
        [],
        {},
        [[]],
        {"": None},
        [0, 8],
        ["a"],
        "3",
        "\0",
        [None],
        [2**70],
        [-1],
        {"auto_map": {}},
        [1.0, 2.0],
    ),
)


def bend(rng: random.Random, text: str) -> str:
    """The text with one to four changes: something cut out, put in, doubled or cut off."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(text))
        to = min(len(text), at + rng.choice((0, 1, 1, 2, 5, 20)))
        kind = rng.randrange(5)
        if kind == 0:
            text = text[:at] + text[to:]
        elif kind == 1:
            text = text[:at] + rng.choice(NASTY) + text[at:]
        elif kind == 2:
            text = text[:at] + rng.choice(NASTY) + text[to:]
        elif kind == 3:
            text = text[:to] + text[at:]
        else:
            text = (
                text[:at]
                + chr(rng.choice((rng.randrange(128), rng.randrange(0x2FF), 0x1F600)))
                + text[to:]
            )
    return text


def bend_bytes(rng: random.Random, data: bytes) -> bytes:
    """The bytes with one to four changes, or cut short."""
    raw = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(raw) + 1)
        kind = rng.randrange(4)
        if kind == 0 and at < len(raw):
            raw[at] = rng.randrange(256)
        elif kind == 1:
            raw[at:at] = rng.randbytes(rng.choice((1, 3, 30)))
        elif kind == 2:
            del raw[at : at + rng.choice((1, 4, 50))]
        elif rng.random() < 0.3:
            del raw[at:]
    return bytes(raw)


def bend_json(rng: random.Random, value: Any) -> Any:
    """A copy of a JSON value in which one to three parts are something else, missing, or under
    another name."""
    copy = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 3)):
        if not isinstance(copy, dict | list) or not copy or rng.random() < 0.02:
            return deepcopy(rng.choice(VALUES))
        inside: Any = copy
        while True:
            key: Any = (
                rng.choice(list(inside)) if isinstance(inside, dict) else rng.randrange(len(inside))
            )
            if isinstance(inside[key], dict | list) and inside[key] and rng.random() < 0.6:
                inside = inside[key]
                continue
            break
        if rng.random() < 0.15:
            del inside[key]
        elif rng.random() < 0.15 and isinstance(inside, dict):
            inside[rng.choice(NASTY)] = inside.pop(key)
        else:
            inside[key] = deepcopy(rng.choice(VALUES))
    return copy


def bent_json(rng: random.Random, value: Any) -> bytes:
    """`bend_json` as bytes, now and then with the bytes bent as well, or nested a hundred thousand
    deep."""
    if rng.random() < 0.002:
        return b"[" * 100_000
    if rng.random() < 0.002:
        return b'{"a":' * 100_000
    raw = json.dumps(bend_json(rng, value)).encode()
    return bend_bytes(rng, raw) if rng.random() < 0.3 else raw


def texts(seed: int, samples: Sequence[str], count: int = EXAMPLES) -> Iterator[str]:
    """Bent samples."""
    rng = random.Random(seed)
    for _ in range(count):
        yield bend(rng, rng.choice(samples))


def read_or_refuse(reader: Callable[[], object], longest: int = 1_500) -> bool:
    """Whether the reader takes it; it may refuse with an error of ours that is short enough to be
    shown."""
    try:
        reader()
    except PalimpsestError as error:
        message = str(error)
    else:
        return True
    assert 10 < len(message) < longest, message[:500]
    return False


def grown(times: int) -> dict[str, Any]:
    """Normalizers of a tokenizer that make a letter a hundred, so many times over."""
    replace = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100}
    return {"type": "Sequence", "normalizers": [replace] * times}
