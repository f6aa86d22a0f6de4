"""Scores on real sentences: the demo's hand-checked trees, and UD English EWT where it is there.

Set PALIMPSEST_EWT to a folder with en_ewt-ud-{train,dev,test}.conllu.gz to run the EWT tests.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from core.maths.structural.baselines import linear_chain, random_trees
from core.maths.structural.batches import ProbeData
from core.maths.structural.schedule import SPREAD
from core.maths.structural.scores import Gold, score, score_depths, score_distances
from core.maths.structural.training import Probe, train_bank
from core.studies.probes.trees.data import as_tree, gold_of
from core.text.corpora import read_corpus
from core.vectors.activations import extract
from tests import ROOT
from tests.core.maths.structural.test_scores import random_predictions, slow_scores
from tests.core.studies.probes.slow_training import train_as_published

EWT = Path(os.environ.get("PALIMPSEST_EWT", ROOT / "en_ewt"))
needs_ewt = pytest.mark.skipif(
    not (EWT / "en_ewt-ud-dev.conllu.gz").is_file(), reason="PALIMPSEST_EWT names no EWT"
)


def read_gold(ref: str) -> Gold:
    return gold_of([as_tree(sentence) for sentence in read_corpus(ref).sentences])


@pytest.mark.slow
def test_scores_equal_the_slow_reference_on_the_demo_trees() -> None:
    gold = read_gold("demo-gold")
    distances, depths = random_predictions(gold, layers=1)
    pairs, nodes = score_distances(distances, gold), score_depths(depths, gold)
    for metric, value in slow_scores(distances, depths, gold, 0).items():
        assert score(pairs if metric in ("uuas", "dspr") else nodes, metric)[0] == pytest.approx(
            value, abs=1e-6
        ), metric


def test_gold_scores_full_marks_on_the_demo_trees() -> None:
    full_marks(read_gold("demo-gold"))


@needs_ewt
@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "uuas", "dspr", "random", "root"),
    [("dev", 43.0, 0.57, 15.0, 25.0), ("test", 43.0, 0.55, 15.6, 27.7)],
)
def test_baselines_on_ewt(part: str, uuas: float, dspr: float, random: float, root: float) -> None:
    gold = read_gold(str(EWT / f"en_ewt-ud-{part}.conllu.gz"))
    chain, drawn = linear_chain(gold), random_trees(gold, np.random.default_rng(0))
    assert round(100 * float(score(chain, "uuas")[0]), 1) == uuas
    assert round(float(score(chain, "dspr")[0]), 2) == dspr
    assert round(100 * float(score(chain, "root")[0]), 1) == root
    assert (
        abs(100 * float(score(drawn, "uuas")[0]) - random) < 0.35
    )  # one draw of random trees; it varies by about .3
    full_marks(gold)


@needs_ewt
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_probes_score_as_those_trained_slowly() -> None:
    """Within half a point of UUAS on 2,077 sentences of EWT, although batches and their order are
    others."""
    rows = {}
    for part, limit in (("train", 3000), ("dev", 1000), ("test", None)):
        corpus = read_corpus(str(EWT / f"en_ewt-ud-{part}.conllu.gz"), limit=limit)
        sentences = [s for s in corpus.sentences if len(s.words) <= 60]
        gold = gold_of([as_tree(sentence) for sentence in sentences])
        vectors = extract("zoo:seed-0", [s.words for s in sentences], layers=[2])
        assert np.array_equal(np.bincount(vectors.sentence), gold.lengths)
        cuts = np.cumsum(gold.lengths)[:-1]
        rows[part] = (gold, np.split(vectors.vectors[0], cuts))
    pairs = {
        part: [
            (torch.from_numpy(words), torch.from_numpy(distances.astype(np.float32)))
            for words, distances in zip(split, gold.distances, strict=True)
        ]
        for part, (gold, split) in rows.items()
    }
    rng = np.random.default_rng(1)
    start = rng.uniform(-SPREAD, SPREAD, (64, rows["train"][1][0].shape[1]))
    slow = train_as_published(pairs["train"], pairs["dev"], start, "distance", rng).map
    data = [
        ProbeData(
            torch.from_numpy(np.concatenate(x))[:, None],
            [distances[None] for distances in gold.distances],
        )
        for gold, x in (rows["train"], rows["dev"])
    ]
    ours = train_bank(data[0], data[1], [Probe(0, 64)]).maps[0]
    gold, test = rows["test"]
    found = []
    for matrix in (slow, ours):
        read = [x @ matrix.T for x in test]
        predicted = [((r[:, None] - r[None]) ** 2).sum(-1)[None] for r in read]
        found.append(100 * float(score(score_distances(predicted, gold), "uuas")[0]))
    print(f"UUAS {found[0]:.2f} slowly, {found[1]:.2f} together")
    assert abs(found[0] - found[1]) < 0.5


def full_marks(gold: Gold) -> None:
    """Gold distances and depths fed in."""
    pairs = score_distances([d[None].astype(float) for d in gold.distances], gold)
    nodes = score_depths([d[None].astype(float) for d in gold.depths], gold)
    assert score(pairs, "uuas")[0] == 1.0
    assert score(nodes, "root")[0] == 1.0
    assert score(pairs, "dspr")[0] == pytest.approx(1.0)
    assert score(nodes, "nspr")[0] == pytest.approx(1.0)
