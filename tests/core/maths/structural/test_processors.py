"""Processors with other instructions read the same vectors and train the same probes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests import ROOT

PROGRAM = """
import sys
import numpy as np
from core.studies.probes.trees.data import as_tree, gold_of
from core.studies.probes.trees.tasks import Regime, read_vectors, train_and_score
from core.text.corpora import read_corpus

gold = read_corpus("demo-gold").sentences
trees = [as_tree(sentence) for sentence in (*gold[:40] * 5, *gold[40:])]
vectors, _ = read_vectors("zoo:seed-0", [tree.words for tree in trees], (0, 2, 6))
how = Regime(("distance", "depth"), (16,), 2, 0, 15)
sizes = (200, 10, 10)
scored = train_and_score(vectors, (0, 2, 6), [gold_of(trees)], sizes, how)
np.savez(sys.argv[1], vectors=vectors, **scored)
"""
OLDER = {  # what a processor without AVX-512, and one that MKL does not know, would do
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_CBWR": "COMPATIBLE",
}
ERROR = 2.0**-23  # relative, of a map's entries: one step of the precision in which they are stored


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() != "AVX512", reason="needs two sets of instructions"
)
def test_vectors_and_probes_do_not_depend_on_the_processor(tmp_path: Path) -> None:
    values = []
    for name, instructions in (("newer", {}), ("older", OLDER)):
        store = {"PALIMPSEST_STORE": str(tmp_path / name), "PALIMPSEST_PRECOMPUTED": "none"}
        file = str(tmp_path / f"{name}.npz")
        environment = os.environ | store | instructions
        subprocess.run([sys.executable, "-c", PROGRAM, file], cwd=ROOT, env=environment, check=True)
        values.append(np.load(file))
    newer, older = values
    assert np.array_equal(newer["vectors"], older["vectors"])
    for name in ("distance_maps", "depth_maps"):
        assert np.abs(newer[name]).max() > 0.05
        assert np.allclose(newer[name], older[name], rtol=ERROR, atol=1e-12), name
    scores = ("hits", "dspr", "root", "nspr", "heads", "dev_uuas", "dev_root")
    for name in (*scores, "distance_best", "depth_best"):
        assert np.array_equal(newer[name], older[name], equal_nan=True), name
