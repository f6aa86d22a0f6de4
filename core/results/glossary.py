"""The words of the field that a headline uses, each explained in two sentences for who meets it for the first time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

MEANINGS = {
    r"RSA": (
        "Representational similarity analysis: how alike two models find the same pairs of words, as a correlation of "
        "their similarities. 1 is the same geometry, near 0 is none in common."
    ),
    r"debiased CKA": (
        "Centred kernel alignment, an overlap of two spaces that does not change when one is rotated. Debiased, it "
        "scores unrelated spaces 0 however few the words."
    ),
    r"(?:biased )?CKA": (
        "Centred kernel alignment, an overlap of two spaces that does not change when one is rotated. The plain form "
        "scores unrelated spaces well above 0 when dimensions are many and words few."
    ),
    r"SVCCA": (
        "CCA of the directions that hold 99 % of each space's variance. Dropping the rest keeps noise from being "
        "matched with noise."
    ),
    r"PWCCA": (
        "CCA whose correlations are weighted by how much of the space they account for. Directions that hardly matter "
        "count less."
    ),
    r"(?:mean )?CCA": (
        "Canonical correlation analysis: the mean correlation of the best-matched directions of two spaces. It "
        "forgives any invertible linear map, and needs many more words than dimensions."
    ),
    r"weight changes?": (
        "How far fine-tuning moved the weights, as a share of their own size. A model that moved farther may differ "
        "more for that reason alone."
    ),
    r"sentences paired at random": (
        "The null: the same measure with each sentence of one model set beside another sentence of the other. Whatever "
        "it scores has nothing to do with what was said."
    ),
    r"null": (
        "What the measure gives where there is nothing to find, for instance with sentences paired at random. A number "
        "inside it says nothing."
    ),
    r"UUAS": (
        "Undirected unlabelled attachment score: the share of a tree's edges that are found, direction and label left "
        "aside. Joining each word to the next already finds some four in ten."
    ),
    r"DSpr\.": (
        "Spearman correlation of predicted and true distances between words, averaged over sentence lengths. It asks "
        "for the right order of distances, not for the tree itself."
    ),
    r"NSpr\.": (
        "Spearman correlation of predicted and true depths of words, averaged over sentence lengths. It asks which "
        "words stand high in the tree and which low."
    ),
    r"[Rr]oot accuracy": (
        "The share of sentences in which the word predicted to be least deep is the root of the tree. Always naming "
        "the first word is right in about a quarter."
    ),
    r"[Ss]electivity": (
        "The score less what the same probe reaches on trees that mean nothing, one fixed rule per word. What is left "
        "was not learned by the probe alone."
    ),
    r"linear chain": (
        "The tree that joins each word to the next, for every sentence. It knows no syntax, and still finds some four "
        "edges in ten."
    ),
    r"the same model untrained|untrained": (
        "The same architecture with weights drawn at random, given the same words and places. What it reaches was not "
        "learned in training."
    ),
    r"words? places? alone|position code(?: alone)?|positions alone": (
        "A probe that sees only where each word stands. It reaches what order gives away without any model."
    ),
    r"kernel ridge|ridge": (
        "Least squares with a penalty on large coefficients, chosen on data not used for the fit. With a kernel the "
        "map may bend; without one it is linear."
    ),
    r"Procrustes": ("The best rotation of one space onto the other. It may turn and mirror, and stretch nothing."),
    r"invertible network": (
        "A network whose every step can be undone, so that it maps the spaces one to one. It is the map that a "
        "bijection between two spaces would need."
    ),
    r"lookup(?: table)?|table of means": (
        "For each word, the mean of its vectors in the target, with no look at the source at all. What it reaches "
        "a map may reach by remembering words."
    ),
    r"words never fitted on|words that no map was fitted on": (
        "Word types of which no occurrence was used to fit the map. A map that only remembered its words fails on them."
    ),
    r"held-out (?:rows|error|words|sentences)|held out": (
        "Measured on data that was kept from the fit. Error on what was fitted would flatter every map."
    ),
    r"variance": (
        "How far the target's vectors spread round their mean, squared. The share that a map predicts is 1 less its "
        "error."
    ),
    r"round-trip error": (
        "What is lost when a map is followed by its inverse, relative to the source's spread. 0 means that nothing was "
        "thrown away."
    ),
    r"bijection": ("A map that sends different points to different points and reaches all of them. It can be undone."),
    r"[Pp]rojectors?": (
        "The leading directions of a weight change, as a subspace: which way it points, whatever its size. Two are "
        "compared by the angles between them, so signs and rotations do not matter."
    ),
    r"[Nn]orms(?: alone)?": (
        "How far each matrix moved, and in no direction. Learning rate and number of steps decide that too."
    ),
    r"energy": (
        "The sum of a matrix's squared singular values. Rank at 90 % of it is the number of directions that hold nine "
        "tenths."
    ),
    r"stable rank": (
        "The sum of squared singular values over the largest squared one. It is 1 where one direction holds all."
    ),
    r"entropy rank|effective rank": (
        "The exponential of the entropy of the singular values taken as shares. It counts directions, each by its "
        "weight."
    ),
    r"chance": (
        "What labels dealt out at random would score, exactly computed for these groups. A share is evidence only as "
        "far as it stands above it."
    ),
    r"p [<=] ?\.\d+": (
        "How often labels dealt out at random score at least as well. Below .05 is called more than chance."
    ),
    r"nearest": (
        "The models whose weight changes are most alike by the vector chosen. Distances are computed in full, never "
        "read off the map."
    ),
    r"Gaussian matrix": (
        "A matrix of independent random numbers, which prefers no direction. The rank of a weight change says "
        "something only beside its rank."
    ),
    r"t-SNE|UMAP": (
        "A drawing that keeps near neighbours near and gives up on large distances. Its islands and gaps mean nothing "
        "by themselves."
    ),
    r"code length|MDL": (
        "Minimum description length: bits needed to send the labels to somebody who has the vectors. Few bits mean "
        "that the label is easy to read off."
    ),
    r"\[-?[+−\d.,\s-]+\]": (
        "A band: of a hundred such bands 95 hold the value that a much larger sample would give. Where two bands "
        "overlap, the two values may be the same."
    ),
}


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    """Every term, longer ones first; a term stands alone, never inside a name such as nli-0."""
    longest = sorted(MEANINGS, key=len, reverse=True)
    alone = [f"(?P<t{number}>(?<![\\w-])(?:{term})(?![\\w-]))" for number, term in enumerate(longest)]
    return re.compile("|".join(alone))


def explained(text: str) -> Iterator[tuple[str, str]]:
    """The text in pieces, each with its meaning: "" for what is no term, or one that stood there before."""
    longest = sorted(MEANINGS, key=len, reverse=True)
    seen, at = set(), 0
    for match in _pattern().finditer(text):
        number = int(str(match.lastgroup)[1:])
        if number in seen:
            continue
        seen.add(number)
        if match.start() > at:
            yield text[at : match.start()], ""
        yield match[0], MEANINGS[longest[number]]
        at = match.end()
    if at < len(text):
        yield text[at:], ""
