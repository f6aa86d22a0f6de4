"""The data set in a model's name, for models whose card names none.

Names are habits, not facts: what is read here is always said to have been read from the name.
Only data sets whose names are no ordinary words are known, and a name that tells of two different
ones tells of none.
"""

from __future__ import annotations

import re

# data set -> how repositories spell it; between signs, so that "rte" is not found in "vertex"
KNOWN: dict[str, str] = {
    "mnli": r"mnli|multi_?nli",
    "snli": r"snli",
    "anli": r"anli",
    "xnli": r"xnli",
    "qnli": r"qnli",
    "wnli": r"wnli",
    "rte": r"rte",
    "sst2": r"sst[-_]?2",
    "sst5": r"sst[-_]?5",
    "cola": r"cola",
    "mrpc": r"mrpc",
    "qqp": r"qqp",
    "stsb": r"sts[-_]?b(?:enchmark)?",
    "squad_v2": r"squad[-_]?(?:v)?2(?:[._-]0)?",
    "squad": r"squad(?:[-_]?v?1(?:[._-]1)?)?",
    "imdb": r"imdb",
    "ag_news": r"ag[-_]?news",
    "yelp": r"yelp(?:[-_]?(?:polarity|review[-_]?full|reviews?))?",
    "dbpedia_14": r"dbpedia(?:[-_]?14)?",
    "trec": r"trec",
    "boolq": r"boolq",
    "conll2003": r"conll[-_]?(?:20)?03",
    "conll2012": r"conll[-_]?(?:20)?12",
    "ontonotes": r"onto[-_]?notes[-_]?5?",
    "wnut_17": r"wnut[-_]?(?:20)?17",
    "go_emotions": r"go[-_]?emotions?",
    "tweet_eval": r"tweet[-_]?eval",
    "financial_phrasebank": r"(?:financial[-_]?)?phrase[-_]?bank",
    "ms_marco": r"ms[-_]?marco",
    "natural_questions": r"natural[-_]?questions|nq",
    "hotpot_qa": r"hotpot[-_]?qa",
    "trivia_qa": r"trivia[-_]?qa",
    "race": r"race",
    "swag": r"swag",
    "paws": r"paws",
    "wikitext": r"wikitext(?:[-_]?(?:2|103))?",
    "cnn_dailymail": r"cnn[-_]?(?:daily[-_]?mail|dm)",
    "xsum": r"xsum",
    "samsum": r"samsum",
    "clinc_oos": r"clinc(?:150|[-_]?oos)?",
    "banking77": r"banking[-_]?77",
}
_PATTERNS = {
    name: re.compile(rf"(?<![a-z0-9])(?:{spelt})(?![a-z0-9])") for name, spelt in KNOWN.items()
}
LONGEST = 200  # characters of a name that are searched


def data_in_name(name: str) -> str:
    """Find the data set that a repository's name contains, its owner's left out; "" for none or
    several."""
    last_part = name.rsplit("/", 1)[-1].lower()[:LONGEST]
    data_sets = [data for data, pattern in _PATTERNS.items() if pattern.search(last_part)]
    if data_sets[:2] == ["squad_v2", "squad"]:
        data_sets = data_sets[:1] + data_sets[2:]
    return data_sets[0] if len(data_sets) == 1 else ""
