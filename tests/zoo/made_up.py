"""Examples made up for the tests, in every format the recipe reads."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from zoo.recipe.pretrain import Pretraining

SETTINGS = Pretraining(
    seed=0,
    vocabulary=200,
    layers=2,
    d_model=16,
    heads=2,
    feed_forward=32,
    length=16,
    batch=4,
    steps=300,
    warmup=10,
)
SENTENCES = [
    "The cat sat on the mat and looked at the dog.",
    "Nobody had seen the letter that the old man wrote.",
    "She opened the door, and the rain came in.",
    "Where did the children leave their boots?",
    "It is not clear who will pay for the bridge.",
    "The soup was cold; the bread was not.",
] * 10

TREE = """# sent_id = {identifier}
1	The	the	DET	DT	_	2	det	_	_
2	cat	cat	NOUN	NN	_	3	nsubj	_	_
3	saw	see	VERB	VBD	_	0	root	_	_
4	{name}	dog	PROPN	NNP	_	3	obj	_	_
5	.	.	PUNCT	.	_	3	punct	_	_

"""


def write_treebank(folder: Path, sentences: int = 12) -> Path:
    """A treebank of like sentences: train and dev plain, test compressed."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(
        TREE.format(identifier=place, name=name)
        for place, name in enumerate(["Rex", "Ann", "Bo"] * sentences)
    )
    (folder / "toy-ud-train.conllu").write_text(text, encoding="utf8")
    (folder / "toy-ud-dev.conllu").write_text(text, encoding="utf8")
    with gzip.open(folder / "toy-ud-test.conllu.gz", "wt", encoding="utf8") as handle:
        handle.write(TREE.format(identifier="t", name="Tom") * 4)
    return folder


def write_task(folder: Path, file: str = "sentiment", pair: bool = False, count: int = 24) -> Path:
    """JSON lines of two labels that one word tells apart."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [("the soup was cold", "negative"), ("the cat sat on the mat", "positive")] * count
    for part in ("train", "test"):
        lines = [
            {"text": text, "label": label, **({"text_pair": "it is so"} if pair else {})}
            for text, label in rows
        ]
        (folder / f"{file}.{part}.jsonl").write_text(
            "\n".join(map(json.dumps, lines)) + "\n", encoding="utf8"
        )
    return folder


MNLI = [
    {"premise": "The cat sat.", "hypothesis": "A cat was there.", "label": 0},
    {"premise": "The cat sat.", "hypothesis": "The dog sat.", "label": 1},
    {"premise": "The cat sat.", "hypothesis": "Nobody sat.", "label": 2},
    {"premise": "The cat sat.", "hypothesis": "No label was agreed on.", "label": -1},
]
SQUAD = [
    {
        "question": "Who wrote the letter?",
        "context": "Nobody had seen the letter that the old man wrote.",
        "answers": {"text": ["the old man", "old man"], "answer_start": [32, 36]},
    },
    {
        "question": "What came in?",
        "context": "She opened the door, and the rain came in.",
        "answers": {"text": ["the rain"], "answer_start": [25]},
    },
    {
        "question": "Who paid?",
        "context": "It is not clear who will pay for the bridge.",
        "answers": {"text": [], "answer_start": []},
    },
]
