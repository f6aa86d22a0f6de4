"""Held-out masked loss and syntax gap of finished models, to compare with those of a calibration.

`python -m benchmarks.calibration FOLDER --treebank DIR zoo:seed-0 ...` measures included models (or
path:FOLDER) as
`python -m zoo.recipe --calibrate FOLDER` measures its snapshots: the same held-out windows (in
FOLDER/text), the same sentences, the same probes. Measurements are kept in FOLDER/references.json
and not repeated; the printed rows are those of `calibration.md`. Processor seconds are those of the
measurement.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.models import locate
from zoo.recipe.calibrate import SCORED_EVERY, SCORED_LENGTH
from zoo.recipe.checkpoints import write_json
from zoo.recipe.pretrain import Pretraining, evaluate
from zoo.recipe.syntax import measure_gap


def measure(ref: str, held: np.ndarray, treebank: Path) -> dict[str, Any]:
    """Held-out loss, masked accuracy and the syntax gap of one masked language model of the
    recipe's form."""
    from transformers import AutoModelForMaskedLM

    model = AutoModelForMaskedLM.from_pretrained(
        locate(ref), dtype=torch.float32, trust_remote_code=False
    )
    settings = Pretraining(seed=0, vocabulary=model.config.vocab_size)
    return {**evaluate(model, held, settings), "syntax": asdict(measure_gap(ref, treebank))}


def main() -> None:
    """Measure what is asked for, unless it has been, and print one row a model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of a calibration")
    parser.add_argument("models", nargs="+", metavar="REF")
    parser.add_argument("--treebank", type=Path, required=True)
    arguments = parser.parse_args()
    os.nice(10)
    torch.set_num_threads(1)
    kept = arguments.folder / "references.json"
    held = np.load(arguments.folder / "text" / f"held-{SCORED_LENGTH}.npy", allow_pickle=False)[
        ::SCORED_EVERY
    ]
    rows: dict[str, Any] = json.loads(kept.read_text(encoding="utf8")) if kept.is_file() else {}
    for ref in arguments.models:
        if ref not in rows:
            rows[ref] = measure(ref, held, arguments.treebank)
            write_json(kept, rows)
        row, syntax = rows[ref], rows[ref]["syntax"]
        print(
            f"{ref} | held-out loss {row['held_out_loss']:.3f} | accuracy "
            f"{row['masked_accuracy']:.3f} | "
            f"layers {' '.join(f'{share:.1f}' for share in syntax['layers'])} | window "
            f"{syntax['window']:.1f} | "
            f"gap {syntax['gap']:+.1f} [{syntax['low']:+.1f}, {syntax['high']:+.1f}] | "
            f"{syntax['processor_seconds']:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
