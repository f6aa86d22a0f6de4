"""Damage a store at random and read it: `python -m tests.core.runs.corruptions FOLDER COUNT [SEED]`
prints a tally.

Run in a process of its own, because the worst that damage can do is to end the process. Half of the
stores are damaged while they are open, half before they are opened.
"""

from __future__ import annotations

import collections
import json
import random
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np

from core.runs.store import Store

ITEMS = {
    **{f"small-{n}": {"words": ["a", "b", str(n)], "n": n} for n in range(6)},
    **{
        f"large-{n}": {"v": np.random.default_rng(n).standard_normal((40, 30)).astype(np.float32)}
        for n in range(3)
    },
}


def same(left: dict, right: dict) -> bool:
    """Whether two values are equal to the last bit."""
    return list(left) == list(right) and all(
        np.array_equal(left[name], right[name]) for name in right
    )


def damage(path: Path, rng: random.Random) -> str:
    """Change a file in one of six ways, where it is and without a new inode; says which."""
    raw = bytearray(path.read_bytes())
    kind = rng.choice(("flip", "flips", "zeros", "garbage", "cut", "grow"))
    at = rng.randrange(len(raw) + 1)
    with path.open("r+b") as file:
        if kind == "cut":
            file.truncate(at)
        elif kind == "grow":
            file.seek(0, 2)
            file.write(rng.randbytes(rng.choice((1, 100, 5_000))))
        else:
            pieces = rng.choice((2, 20, 200)) if kind == "flips" else 1
            for _ in range(pieces):
                file.seek(rng.randrange(len(raw) + 1))
                size = 1 if kind.startswith("flip") else rng.choice((16, 512, 4_096))
                file.write(bytes(size) if kind == "zeros" else rng.randbytes(size))
    return kind


def one(template: Path, folder: Path, rng: random.Random) -> str:
    """Damage one copy of the store, use it; what came of it."""
    shutil.copytree(template, folder)
    live = rng.random() < 0.5
    store = Store(folder) if live else None
    if store is not None and rng.random() < 0.5:
        store.put("another", {"n": 1})  # so that there is a log beside the books
    files = [
        path
        for path in (folder / "values").rglob("*")
        if path.is_file() and not path.name.endswith("-shm")
    ]
    books = [path for path in files if path.name.startswith("cache.db")]
    chosen = rng.choice(books if rng.random() < 0.7 else files)
    kind = damage(chosen, rng)
    store = store or Store(folder)
    found = store.get_many(ITEMS)
    wrong = [key for key, value in found.items() if not same(value, ITEMS[key])]
    for key, value in ITEMS.items():
        again, _ = store.get_or_compute(key, lambda value=value: value)  # type: ignore[misc]
        wrong += [] if same(again, value) else [key]
    fresh = Store(folder)
    wrong += [key for key, value in fresh.get_many(ITEMS).items() if not same(value, ITEMS[key])]
    if wrong:
        raise AssertionError(f"served damaged: {wrong} after {kind} of {chosen.name}, open: {live}")
    return f"{'aside' if any(folder.glob('*.damaged-*')) else 'misses' if len(found) < len(ITEMS) else 'harmless'}"


def main() -> None:
    """Run the count; the last line printed is the tally as JSON."""
    where, count, seed = (
        Path(sys.argv[1]),
        int(sys.argv[2]),
        int(sys.argv[3]) if len(sys.argv) > 3 else 0,
    )
    warnings.simplefilter("ignore")
    template = where / "template"
    store = Store(template)
    store.put_many(ITEMS)
    store._values.close()
    tally: collections.Counter[str] = collections.Counter()
    for number in range(count):
        folder = where / str(number)
        try:
            tally[one(template, folder, random.Random(f"{seed}-{number}"))] += 1
        except Exception as error:
            tally["failed"] += 1
            print(number, type(error).__name__, error, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(tally))


if __name__ == "__main__":
    main()
