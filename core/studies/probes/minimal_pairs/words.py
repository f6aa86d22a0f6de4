"""The words of the templates, each one token of the included tokenizer.

A model whose tokenizer cuts them into pieces is scored on all pieces, so the words need not be
whole tokens elsewhere.
"""

from __future__ import annotations

SINGULAR, PLURAL = 0, 1  # places of a noun's two forms, and of words that agree with it
Forms = tuple[str, str]

MEN: tuple[Forms, ...] = (
    ("boy", "boys"), ("man", "men"), ("gentleman", "gentlemen"), ("brother", "brothers"),
)  # fmt: skip
WOMEN: tuple[Forms, ...] = (
    ("girl", "girls"), ("woman", "women"), ("lady", "ladies"), ("sister", "sisters"),
)  # fmt: skip
PEOPLE: tuple[Forms, ...] = (
    *MEN,
    *WOMEN,
    *(("friend", "friends"), ("child", "children"), ("servant", "servants"), ("actor", "actors")),
)
THINGS: tuple[Forms, ...] = (
    *(("book", "books"), ("house", "houses"), ("horse", "horses"), ("door", "doors")),
    *(("window", "windows"), ("letter", "letters"), ("tree", "trees"), ("room", "rooms")),
    *(("dog", "dogs"), ("bird", "birds"), ("picture", "pictures"), ("flower", "flowers")),
    *(("field", "fields"), ("hill", "hills"), ("street", "streets"), ("stone", "stones")),
)
ADJECTIVES = (
    *("old", "new", "little", "great", "white", "black", "small", "large", "poor", "dark"),
    *("strange", "beautiful"),
)  # of people or things
STATES = (
    *("happy", "alone", "afraid", "ready", "old", "young", "dead", "poor", "strong", "good"),
    *("late", "free"),
)  # after a form of be
AUXILIARIES: tuple[Forms, ...] = (("is", "are"), ("was", "were"))
HAVE: Forms = ("has", "have")
PARTICIPLES = ("gone", "returned", "arrived", "died", "smiled", "waited")  # after a form of have

MEETING = (
    *("knew", "saw", "loved", "heard", "followed", "met", "helped", "watched", "hated", "noticed"),
    *("wanted", "found"),
)  # verbs whose object is a person
HARMING = ("hurt", "killed", "saved", "hated", "helped", "saw", "found", "touched")
NEEDS_OBJECT = (
    *("brought", "carried", "found", "hated", "kept", "made", "sent", "took", "touched", "wanted"),
)
TAKES_NO_OBJECT = (
    *("smiled", "arrived", "died", "appeared", "remained", "came", "went", "waited", "cried"),
    *("nodded",),
)
LICENSORS = (
    *(("no", "the"), ("no", "some"), ("few", "the"), ("few", "some"), ("few", "many")),
    *(("no", "many"),),
)  # of negative polarity items, each with a word that is none
DEMONSTRATIVES: tuple[Forms, ...] = (("this", "these"), ("that", "those"))
THEMSELVES = "themselves"
