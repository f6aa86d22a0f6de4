"""Processors with other instructions read the same vectors and train the same probes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests import ROOT

PROGRAM = """
import hashlib
import numpy as np
from core.probes.trees.data import as_tree, gold_of
from core.probes.trees.tasks import Regime, read_vectors, train_and_score
from core.text.corpora import read_corpus

trees = [as_tree(sentence) for sentence in read_corpus("demo-gold").sentences][:60]
vectors, _ = read_vectors("zoo:seed-0", [tree.words for tree in trees], (0, 2, 6))
how = Regime(("distance", "depth"), (16,), 2, 0, 15)
scored = train_and_score(vectors, (0, 2, 6), [gold_of(trees)], (40, 10, 10), how)
made = {name: scored[name] for name in ("distance_maps", "depth_maps", "hits", "root")}
for name, array in (made | {"vectors": vectors}).items():
    print(name, array.shape, hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest())
"""
OLDER = {  # what a processor without AVX-512 would do
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}


@pytest.mark.slow
@pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() != "AVX512", reason="needs two sets of instructions"
)
def test_vectors_and_probes_do_not_depend_on_the_processor(tmp_path: Path) -> None:
    said = []
    for name, instructions in (("newer", {}), ("older", OLDER)):
        store = {"PALIMPSEST_STORE": str(tmp_path / name), "PALIMPSEST_PRECOMPUTED": "none"}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            env=os.environ | store | instructions,
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stdout.splitlines())
    assert len(said[0]) == 5
    assert said[0] == said[1]
