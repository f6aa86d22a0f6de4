"""Probes of decoders: attention sinks are no words of the trees, in training and in scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from core.maths.structural.batches import Packer, ProbeData
from core.runs.runner import run
from core.studies.probes.edges.items import edge_items
from core.studies.probes.edges.spec import EdgeSpec
from core.studies.probes.training.spec import ProbeTrainingSpec
from core.studies.probes.trees import tasks
from core.studies.probes.trees.data import Tree, Trees, TreesAndSinks, gold_of, read_treebank
from core.studies.probes.trees.planning import prepare
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.study import STUDY, plan
from tests.core.massive import FIRST, WORDS, make_massive
from tests.core.studies.probes.planted import random_heads
from tests.core.tiny_models import LAYERS, save_tiny


def write_text(path: Path, count: int = 130) -> Path:
    """Sentences that begin with a sink, with random trees."""
    rng = np.random.default_rng(0)
    lines: list[str] = []
    for _ in range(count):
        heads = random_heads(rng, 5, 9)
        words = [FIRST, *rng.choice(WORDS, len(heads) - 1).tolist()]
        for number, (word, head) in enumerate(zip(words, heads, strict=True), 1):
            tag = "NOUN" if number % 2 else "VERB"
            row = [str(number), word, "_", tag, "_", "_", str(head), "dep", "_", "_"]
            lines.append("\t".join(row))
        lines.append("")
    path.write_text("\n".join(lines) + "\n", encoding="utf8")
    return path


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("probe-sinks")
    make_massive(save_tiny(folder / "llama", "llama"))
    return {
        "llama": f"path:{folder / 'llama'}",
        "bert": f"path:{save_tiny(folder / 'bert', 'bert')}",
        "trees": str(write_text(folder / "trees.conllu")),
    }


def spec(box: dict[str, str], *names: str, **changes: object) -> ProbeSpec:
    settings = {
        **{"models": tuple(box[name] for name in names), "corpus": box["trees"]},
        **{"rank": 8, "epochs": 2, "draws": 50, "seeds": 1, "controls": 1, "untrained": False},
        **changes,
    }
    return ProbeSpec(**settings)  # type: ignore[arg-type]


TREES = [
    Tree(("a", "b", "c"), (2, 0, 2), (True, True, True)),
    Tree(("a", "b", "c"), (0, 1, 2), (True, True, False)).without((0,)),
]


def test_a_tree_without_its_sinks() -> None:
    assert TREES[1].keep == (False, True, False)
    assert TREES[0].without(()) == TREES[0]
    gold = gold_of(TREES)
    assert gold.distances[0].min() == 0
    assert gold.distances[1].tolist() == [[-1, -1, -1], [-1, 0, 1], [-1, 1, 0]]
    assert gold.depths[1].tolist() == [-1, 1, 2]
    trees = Trees.of(TREES)
    assert trees.rows == TREES
    assert trees.sink_words.tolist() == [False, False, False, True, False, False]


def test_trees_without_sinks_keep_their_keys() -> None:
    assert type(Trees.of(TREES[:1])) is Trees
    assert type(Trees.of(TREES)) is TreesAndSinks
    assert not Trees.of(TREES[:1]).sink_words.any()


@pytest.mark.parametrize("kind", ["distance", "depth"])
def test_no_pair_with_a_sink_has_weight_in_training(kind: str) -> None:
    gold = gold_of(TREES)
    targets = [tree[None] for tree in (gold.distances if kind == "distance" else gold.depths)]
    data = ProbeData(torch.zeros(6, 1, 4), targets)
    ((block,),) = (batch.blocks for batch in Packer(data, 2).pack([np.arange(2)]))
    expected = np.ones((2, 3, 3) if kind == "distance" else 6)
    expected[(1, 0) if kind == "distance" else 3] = 0
    if kind == "distance":
        expected[1, :, 0] = 0
    assert ((block.weights > 0).numpy() == expected.astype(bool)).all()


@pytest.mark.slow
def test_the_treebank_leaves_out_the_sinks_of_any_decoder(box: dict[str, str]) -> None:
    treebank = read_treebank(spec(box, "bert", "llama"))
    trees = [tree for part in treebank.parts.values() for tree in part]
    assert all(tree.sinks == (0,) and not tree.keep[0] and all(tree.keep[1:]) for tree in trees)
    assert treebank.sinks is not None
    assert treebank.sinks["left_out"] == 130
    other = read_treebank(spec(box, "bert"), others=(box["llama"],))
    assert dict(other.parts) == dict(treebank.parts)
    for names, choice in ((("bert",), "auto"), (("bert", "llama"), "keep")):
        plain = read_treebank(spec(box, *names, sinks=choice))
        assert plain.sinks is None
        assert not any(tree.sinks for part in plain.parts.values() for tree in part)


def test_a_model_that_is_not_there_fails_in_its_own_task(box: dict[str, str]) -> None:
    missing = spec(box, "llama", models=(box["llama"], "path:/nowhere"), sinks="drop")
    assert read_treebank(missing).sinks is not None


@pytest.mark.slow
def test_the_tasks_of_encoders_keep_their_keys(box: dict[str, str]) -> None:
    def keys(*names: str, sinks: str) -> list[str]:
        asked = spec(box, *names, sinks=sinks)
        return [task.key for task in plan(asked, run(prepare(asked)))]

    assert keys("bert", sinks="auto") == keys("bert", sinks="keep") == keys("bert", sinks="drop")
    assert keys("llama", sinks="auto") != keys("llama", sinks="keep")


def test_edges_have_no_item_with_a_sink(box: dict[str, str]) -> None:
    asked = EdgeSpec(models=(box["llama"],), corpus=box["trees"], untrained=False)
    trees = Trees.of(read_treebank(asked.as_probes).parts["train"])
    tags = tuple(("NOUN",) * len(words) for words in trees.words)
    for target in ("pos", "label", "distance"):
        items = edge_items(target, trees.heads, trees.keep, tags)
        assert len(items) > 100
        assert (items.word > 0).all()
        assert (items.head != 0).all()


def test_the_studies_that_build_on_it_hand_the_option_on() -> None:
    assert EdgeSpec(sinks="keep").as_probes.sinks == "keep"
    assert ProbeTrainingSpec(sinks="drop").as_probes.sinks == "drop"


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_study_says_so_and_reads_no_massive_activation(
    box: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    largest: list[float] = []
    train = tasks.train_and_score

    def looking(vectors: np.ndarray, *given: object) -> object:
        largest.append(float(np.abs(vectors).max()))
        return train(vectors, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(tasks, "train_and_score", looking)
    result = STUDY.run(spec(box, "llama", position="off", controls=0))
    assert not result.failures
    assert max(largest) < 100
    (notice,) = (each for each in result.notices if "attention sinks" in each)
    assert "130 of" in notice
    assert result.tables["sinks"]["first_words"].max() == 130
    scores = result.table[result.table["model"] == box["llama"]]
    assert scores.loc[scores["metric"] == "uuas", "value"].notna().sum() == LAYERS + 1
    kept = STUDY.run(spec(box, "llama", position="off", controls=0, sinks="keep"))
    assert "sinks" not in kept.tables
    assert max(largest) > 1_000
