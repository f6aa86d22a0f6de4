"""Every study computed from an empty store, small: what two trees are compared by on one machine.

Its numbers are not written down in the repository, since processors round differently and probes
amplify that: `python -m tests.golden computed.json` writes them where they are not there yet and
compares with them where they are.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.catalogue import STUDIES
from core.runs.store import Store, using
from tests.golden.digest import differences, digest

TOLERANCE = 1e-7  # single precision in `align protocol` differs by 1e-8 from run to run
PROBES = {"sentences": 60, "layers": (0, 3), "draws": 20, "epochs": 4}
SMALL: dict[str, dict[str, Any]] = {
    "rsa": {"sentences": 20, "words": 40},
    "tokens": {},
    "swap": {"sentences": 20, "noises": 2, "draws": 20, "compare": ("zoo:parse-0",)},
    "divergence": {"sentences": 20, "words": 40},
    "lens": {"sentences": 20, "models": ("zoo:review-0",), "others": ("zoo:nli-0",)},
    "bits": {"models": ("zoo:decoder-0", "zoo:review-0"), "sentences": 20, "draws": 20},
    "truth": {"sentences": 20, "words": 50, "plants": 2, "measures": ("rsa", "cka")},
    "training": {"sentences": 20, "words": 40, "at_most": 3},
    "audit": {},
    "spaces": {
        **{"models": ("zoo:seed-0", "zoo:seed-1", "zoo:parse-0"), "sentences": 20},
        **{"words": 60, "draws": 20},
    },
    "probe": {**PROBES, "models": ("zoo:parse-0",), "seeds": 1, "controls": 1},
    "probe edges": {
        name: value
        for name, value in {**PROBES, "models": ("zoo:parse-0",), "controls": 1}.items()
        if name != "epochs"
    },
    "probe polar": {**PROBES, "models": ("zoo:parse-0",), "seeds": 1, "controls": 1},
    "probe training": {
        name: value
        for name, value in {**PROBES, "at_most": 2, "seeds": 1, "controls": 1}.items()
        if name != "layers"
    },
    "probe behaviour": {"models": ("zoo:seed-0", "zoo:seed-1"), "pairs": 10, "probes": False},
    "probe removal": {**PROBES, "models": ("zoo:parse-0",), "randoms": 2, "scored": 6, "pairs": 10},
    "weights": {"models": ("zoo:parse-*", "zoo:nli-*"), "permutations": 200},
    "weights intruders": {"models": ("zoo:parse-0-lora-8",), "draws": 19},
    "weights scaling": {
        **{"models": ("zoo:parse-0-lora-8",), "families": ("query",), "leading": 3},
        **{"threshold": 0.9, "removals": 2, "text": "demo"},
    },
    "weights lineage": {"models": ("zoo:seed-0", "zoo:seed-1", "zoo:parse-0", "zoo:nli-0")},
    "weights arithmetic": {
        "models": ("zoo:parse-0", "zoo:sentiment-0"),
        "sentences": 20,
        "randoms": 2,
        "draws": 20,
    },
    "align": {"sentences": 60, "layers": (3,), "grid": "ols", "second_run": False},
    "align rotation": {"sentences": 60, "draws": 2},
    "align check": {"sentences": 60, "truths": ("bend",)},
    "align stitch": {"sentences": 60, "draws": 20, "methods": ("identity", "ridge")},
    "align barrier": {"sentences": 20, "models": ("zoo:seed-0", "zoo:seed-1", "zoo:pos-0")},
    "align protocol": {"sentences": 30, "steps": 5, "length": 32},
    "align attention": {"sentences": 30, "methods": ("identity", "ridge")},
}


def digests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Run every study in a store of its own, and digest what it says."""
    for name, options in SMALL.items():
        with tempfile.TemporaryDirectory(prefix="golden-") as folder:
            store = Store(Path(folder))
            with using(store):
                study = STUDIES[name]
                yield name, digest(study.run(study.Spec(**options), store=store))


def compare(path: Path) -> Iterator[str]:
    """Write the digests where there are none, and name what differs where there are."""
    new = {}
    for name, value in digests():
        new[name] = value
        print(name, flush=True)
    if path.is_file():
        old = json.loads(path.read_text(encoding="utf8"))
        yield from differences(old, json.loads(json.dumps(new)), tolerance=TOLERANCE)
    else:
        path.write_text(json.dumps(new, indent=1), encoding="utf8")
