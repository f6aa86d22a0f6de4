"""What it takes to parse JSON that is as large as the bounds allow, each text in a process of its
own: `python -m tests.core.runs.process.parsed SEED...` writes a line of JSON for each."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

from core.runs.process.parsing import MOST_BYTES, MOST_MEMORY, memory_of, parse

TEXTS = ('""', '"a"', '"aa"', '"éé"', '"😀"', '"\\u1234"', '"\\ud83d\\ude00"', '"\\n"')
TEXTS += ('"' + "b" * 40 + '"', '"' + "b" * 39 + 'é"', '"' + "c" * 15 + '😀"')
NUMBERS = ("0", "300", "99999", "1e1", "0.5", "1e-308", "null", "true", "9" * 30, "9" * 4_000)
INSIDE = ("[]", "{}", "[[]]", "[0]", "[0,0,0,0,0]", '{"":0}', '{"":{}}', '{"":[]}', "[[[[]]]]")
INSIDE += ('{"?":0}', '{"?":300}', '{"?":{"?_":0}}', '{"😀?":"aa"}', '{"?":[0]}')
INSIDE += ('{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0}',)
INSIDE += ('{"dtype":"F32","shape":[0],"data_offsets":[0,0]}',)
SHAPES = ("list", "object", "deep", "objects")
LONGEST = 8_000  # bytes of a value and of what closes the text


def write(seed: int, size: int, most: int = 2**40) -> bytes:
    """Values of one to six kinds in about so many bytes; the first seeds have one kind alone.

    Values are left out at the end until the text may be parsed in so many bytes of memory.
    """
    rng = random.Random(seed)
    values = (*INSIDE, *TEXTS, *NUMBERS)
    chosen = [values[seed]] if seed < len(values) else rng.sample(values, rng.choice((1, 2, 3, 6)))
    shape = rng.choice(SHAPES) if seed >= len(values) else SHAPES[0]
    deep, together = rng.choice((1, 3, 900)), rng.choice((1, 2, 5, 6, 11, 22, 43, 1_000))
    parts: list[str] = []
    written = 0
    if shape == "list" and len(chosen) == 1:  # without a draw for each
        written = size
        count = -(-size // (len(chosen[0].encode()) + 1))
        if "?" in chosen[0]:
            parts = [chosen[0].replace("?", f"{number:x}") for number in range(count)]
        else:
            parts = [chosen[0]] * count
    while written < size:
        number = len(parts)
        value = rng.choice(chosen).replace("?", f"{number:x}")  # a key that no other object has
        if shape == "deep":
            value = "[" * deep + value + "]" * deep
        elif shape != "list":
            value = f'"{number:x}":{value}'
        parts.append(value)
        written += len(value.encode()) + 1
    while memory_of(raw := joined(parts, shape, together)) > most:
        del parts[len(parts) * 19 // 20 :]
    return raw


def joined(parts: list[str], shape: str, together: int) -> bytes:
    """A text of these values."""
    if shape == "objects":
        starts = range(0, len(parts), together)
        parts = ["{" + ",".join(parts[at : at + together]) + "}" for at in starts]
    body = ",".join(parts)
    return ("{" + body + "}" if shape == "object" else "[" + body + "]").encode()


def below_the_bound(seed: int) -> bytes:
    """The largest such text that is parsed, but for a twentieth."""
    size = MOST_MEMORY // max(1, memory_of(write(seed, 200_000)) // 200_000)
    return write(seed, min(size, MOST_BYTES - LONGEST), MOST_MEMORY)


def memory(field: str) -> int:
    """Bytes of this process: VmRSS now, VmHWM at most since it was reset."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def main(seeds: list[int]) -> None:
    """Parse a text for each seed."""
    for seed in seeds:
        if os.fork():
            os.wait()
            continue
        raw = below_the_bound(seed)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before, began = memory("VmRSS"), time.process_time()
        value = parse(raw)
        seconds = time.process_time() - began
        record = {"seed": seed, "values": len(value), "bytes": len(raw), "seconds": seconds}
        record |= {"memory": memory("VmHWM") - before, "bound": memory_of(raw)}
        print(json.dumps(record), flush=True)
        os._exit(0)


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]])
