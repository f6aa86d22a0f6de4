"""Opens models of a hub as pages and studies do, in a process of its own, and says what it took.

`python -m tests.core.models.hub.asker NAME...` opens one model after the other in every way and
writes a line of JSON for each: bytes held before and at most, processor seconds, and the sentence
of each way ("" where it could be opened).
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from core.errors import PalimpsestError
from core.models import load_model, load_tokenizer, locate, trial
from core.models.sizes import size_of
from core.models.weights.samples import read_sample
from core.models.weights.sources import open_adapter, open_model
from tests.core.contents import read_as
from tests.core.warm import Warm

WAYS: dict[str, Callable[[str], object]] = {
    "size": size_of,
    "weights": lambda ref: open_model(ref, read_as(ref)),
    "sample": lambda ref: read_sample(open_model(ref, read_as(ref))),
    "adapter": lambda ref: open_adapter(ref, read_as(ref)),
    "states": load_model,
    "tokenizer": lambda ref: load_tokenizer(ref).forms([("a", "dog")] * 2_000),
}


def memory(field: str) -> int:
    """Bytes of this process: VmRSS now, VmHWM at most since it was reset."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


def main(names: list[str]) -> None:
    """Open the models.

    The process that tries their configurations stays for all of them, and those that run their
    tokenizers have imported: nothing of theirs is counted here.
    """
    trial.REST = trial.REST_SHARED = 3_600.0
    subprocess.Popen = Warm(locate("zoo:seed-0")).popen  # type: ignore[misc,assignment]
    for name in names:
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        held, began, reasons = memory("VmRSS"), time.process_time(), {}
        for way, opened in WAYS.items():
            try:
                opened(f"hub:{name}")
                reasons[way] = ""
            except PalimpsestError as error:
                reasons[way] = str(error)
        record = {"held": held, "peak": memory("VmHWM"), "seconds": time.process_time() - began}
        print(json.dumps({"name": name, **record, "reasons": reasons}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
