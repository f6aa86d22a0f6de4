"""Makes the file that `shipped` reads: the demo corpora, cut into words and parsed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from core.models.zoo import zoo_folder
from core.text import parsing
from core.text.corpora import read_corpus
from core.text.pipelines import pipeline_fingerprint
from core.text.shipped import FILE
from core.text.sources import demo_rows


def ship_demo() -> Path:
    """Cut and parse the demo corpora with the included parser, and write the file, whose path is
    returned."""
    sentences = list(read_corpus("demo-gold").words)
    with (zoo_folder() / "corpus" / "demo.txt").open("rb") as handle:
        lines = [text for _, text in demo_rows(handle)]
    cut = [parsing.tokenize(line, split=False) for line in lines]
    wanted = list(dict.fromkeys([words for line in cut for words in line] + sentences))
    rows = [
        [words, parse.heads, parse.upos, parse.xpos, parse.deprel]
        for words, parse in zip(wanted, parsing.parse_words(wanted), strict=True)
    ]
    record = {
        "cut": parsing.words_key(lines, split=False),
        "lines": cut,
        "parser": pipeline_fingerprint(),
        "parses": rows,
    }
    path = zoo_folder() / FILE
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode("utf8"), mtime=0))
    return path
