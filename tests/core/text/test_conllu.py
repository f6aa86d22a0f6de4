"""CoNLL-U: what the format allows is read, everything else is refused with file, line and
reason."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import CorpusError
from core.text.conllu import Sentence, is_punctuation, read_conllu


def row(identifier, form, head="_", upos="X", xpos="XX", deprel="dep"):
    return "\t".join([str(identifier), form, "_", upos, xpos, "_", str(head), deprel, "_", "_"])


def read(*lines: str) -> list[Sentence]:
    return list(read_conllu(lines, "x.conllu"))


def refused(*lines: str) -> str:
    with pytest.raises(CorpusError) as caught:
        read(*lines)
    return str(caught.value)


SHORT = (row(1, "Dogs", 2, "NOUN", "NNS", "nsubj"), row(2, "bark", 0, "VERB", "VBP", "root"))


def test_words_heads_tags_labels_and_comments():
    [sentence] = read("# sent_id = s1", "# genre = news", "# text = Dogs bark", *SHORT, "")
    assert sentence == Sentence(
        words=("Dogs", "bark"),
        heads=(2, 0),
        genre="news",
        upos=("NOUN", "VERB"),
        xpos=("NNS", "VBP"),
        identifier="s1",
        deprel=("nsubj", "root"),
    )


@pytest.mark.parametrize(
    "lines",
    [
        [*SHORT, "", *SHORT, ""],
        [*SHORT, "", *SHORT],  # no last empty line
        ["\ufeff" + SHORT[0], SHORT[1], "", *SHORT],  # byte order mark
        [line + "\r\n" for line in (*SHORT, "", *SHORT, "")],  # CRLF
        ["", "", *SHORT, "", "  ", "", *SHORT],  # many empty lines
        [
            "# newdoc",
            "",
            "# alone",
            "",
            *SHORT,
            "",
            *SHORT,
            "",
            "# trailing",
        ],  # comments without a sentence
    ],
)
def test_ways_to_lay_out_the_same_two_sentences(lines):
    assert [s.words for s in read(*lines)] == [("Dogs", "bark")] * 2


def test_multiword_ranges_give_their_syntactic_words():
    [sentence] = read(
        row(1, "I", 4), row("2-3", "don't"), row(2, "do", 4), row(3, "n't", 4), row(4, "know", 0)
    )
    assert sentence.words == ("I", "do", "n't", "know")
    assert sentence.heads == (4, 4, 4, 0)


def test_empty_nodes_are_left_out():
    [sentence] = read(
        row("0.1", "x"), row(1, "Go", 0), row("1.1", "a"), row("1.2", "b"), row(2, "on", 1)
    )
    assert sentence.words == ("Go", "on")


def test_unusual_words_are_words():
    words = ("_", "10 000", "a#b", "\u2028", "👩‍🚀", "שלום", "<b>")
    [sentence] = read(*(row(i + 1, word, i) for i, word in enumerate(words)))
    assert sentence.words == words


def test_heads_missing_throughout_are_no_heads():
    sentences = read(row(1, "a"), row(2, "b"), "", row(1, "c"))
    assert [s.heads for s in sentences] == [None, None]


def test_columns_that_say_nothing_are_none():
    [sentence] = read(row(1, "a", 0, "_", "_", "_"))
    assert sentence.upos is None
    assert sentence.xpos is None
    assert sentence.deprel is None


@pytest.mark.parametrize(
    ("lines", "number", "reason"),
    [
        ([row(1, "a", 0), row(2, "b", 0)], 2, "(words 1, 2)"),
        ([row(1, "a", 2), row(2, "b", 1)], 1, "root"),
        ([row(1, "a", 0), row(2, "b", 3), row(3, "c", 2)], 2, "words 2, 3"),
        ([row(1, "a", 0), row(2, "b", 2)], 2, "word 2"),
        ([row(1, "a", 0), row(2, "b", 7)], 2, "head 7"),
        ([row(1, "a", 3), row(2, "b", 1)], 1, "head 3"),
        ([row(1, "a", 0), row(2, "b")], 2, "(_)"),
        ([row(1, "a", 0), row(2, "b", "x")], 2, "head 'x'"),
        ([row(1, "a", 0), row(2, "b", "1.5")], 2, "head '1.5'"),
        ([row(1, "a", 0), row(2, "b", "-1")], 2, "head '-1'"),
        ([row(1, "a", 0), row(2, "b", "01")], 2, "head '01'"),
        ([row(1, "a", 0), row(2, "b", "²")], 2, "head '²'"),
        (["1\ta\t_\t_\t_\t_\t0\troot\t_"], 1, "9 columns"),
        (["1 a _ _ _ _ 0 root _ _"], 1, "1 columns"),
        ([row(1, "a", 0) + "\tmore"], 1, "11 columns"),
        ([row(1, "", 0)], 1, "column 2 is empty"),
        ([row(2, "a", 0)], 1, "id 2 is out of order; 1 "),
        ([row(1, "a", 0), row(1, "b", 1)], 2, "id 1 is out of order; 2 "),
        ([row(1, "a", 0), row(3, "b", 1)], 2, "id 3 is out of order; 2 "),
        ([row("x", "a", 0)], 1, "'x' is not a word"),
        ([row(0, "a", 0)], 1, "'0' is not a word"),
        ([row("2-3", "ab"), row(1, "a", 0)], 1, "2-3 is out of order"),
        ([row("1-2", "ab"), row("1-3", "abc"), row(1, "a", 0)], 2, "1-3 is out of order"),
        ([row(1, "a", 0), row("2-1", "b")], 2, "range 2-1"),
        ([row("1-3", "abc"), row(1, "a", 0)], 2, "before word 3"),
        ([row(1, "a", 0), row("1.2", "x")], 2, "1.2 is out of order; 1.1 "),
        ([row(1, "a", 0), "# late", row(2, "b", 1)], 2, "comment"),
        ([row("1.1", "x")], 1, "out of order"),
        ([row("0.1", "x")], 1, "has no words"),
    ],
)
def test_what_the_format_does_not_allow_is_refused_by_line(lines, number, reason):
    message = refused("# first", *lines)
    assert message.startswith(f"x.conllu, line {number + 1}: ")
    assert reason in message


def test_errors_in_a_later_sentence_name_its_line():
    assert refused(*SHORT, "", "# again", row(1, "a", 0), row(2, "b", 0)).startswith(
        "x.conllu, line 6: "
    )


def test_some_sentences_with_heads_and_some_without_are_refused():
    assert refused(*SHORT, "", row(1, "a")).startswith("x.conllu, line 4: ")
    assert refused(row(1, "a"), "", *SHORT).startswith("x.conllu, line 3: ")


@pytest.mark.parametrize("lines", [[], [""], ["# only", "# comments"]])
def test_no_sentence_at_all_is_refused(lines):
    assert refused(*lines).startswith(f"x.conllu holds no sentence in its {len(lines)} lines")


def test_reading_stops_where_the_reader_stops():
    endless = (line for _ in iter(int, 1) for line in (*SHORT, ""))
    assert next(read_conllu(endless, "x")).words == ("Dogs", "bark")


def test_punctuation_by_xpos_upos_or_the_marks_themselves():
    words = ("Well", ",", "(", "%", "-", "...", "?")
    xpos = ("UH", ",", "-LRB-", "NN", "HYPH", ":", ".")
    upos = ("INTJ", "PUNCT", "PUNCT", "SYM", "PUNCT", "PUNCT", "PUNCT")
    by_xpos = [False, True, True, False, False, True, True]
    assert is_punctuation(Sentence(words, upos=upos, xpos=xpos)).tolist() == by_xpos
    assert is_punctuation(Sentence(words, upos=upos)).tolist() == [tag == "PUNCT" for tag in upos]
    assert is_punctuation(Sentence(words)).tolist() == [False, True, True, True, True, True, True]
    assert is_punctuation(Sentence(("$", "a.", "«"))).tolist() == [False, False, True]
    assert is_punctuation(Sentence(())).dtype == np.bool_


@pytest.mark.parametrize(
    ("words", "upos", "xpos", "marks"),
    [
        (
            ("Hunden", ",", "-", "%"),
            ("NOUN", "PUNCT", "PUNCT", "SYM"),
            ("SG-DEF", "Comma", "_", "SYM"),
            [0, 1, 1, 0],
        ),
        (
            ("Haus", ".", "(", "$"),
            ("NOUN", "PUNCT", "PUNCT", "SYM"),
            ("NN", "$.", "$(", "$"),
            [0, 1, 1, 0],
        ),
        (("casa", ";", "e", "?"), None, ("S", "FC", "CC", "FS"), [0, 1, 0, 1]),
    ],
)
def test_treebanks_with_tags_of_their_own_lose_their_punctuation_too(words, upos, xpos, marks):
    assert is_punctuation(Sentence(words, upos=upos, xpos=xpos)).tolist() == [
        bool(mark) for mark in marks
    ]
