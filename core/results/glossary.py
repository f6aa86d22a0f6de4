"""Terms of the field in headlines, each explained in two sentences for a reader who meets it for
the first time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

MEANINGS = {
    # similarity
    r"RSA": (
        "Representational similarity analysis: the correlation between two models' similarities of "
        "all pairs of words. 1 means the same geometry, 0 means that the two geometries are "
        "unrelated."
    ),
    r"debiased CKA": (
        "Centred kernel alignment, a similarity of two spaces that does not change when one of "
        "them is rotated. The debiased estimate is near 0 for unrelated spaces, however few the "
        "words, and is the one that is recommended."
    ),
    r"(?:biased )?CKA": (
        "Centred kernel alignment, a similarity of two spaces that does not change when one of "
        "them is rotated. With many dimensions and few words, the biased estimate is well above 0 "
        "even for unrelated spaces."
    ),
    r"SVCCA": (
        "Canonical correlation analysis of the principal components that hold 99 % of each space's "
        "variance. Without the other components, noise is not matched with noise."
    ),
    r"PWCCA": (
        "Canonical correlation analysis whose correlations are weighted by how much of the space "
        "each direction accounts for. Directions that hardly matter count less."
    ),
    r"(?:mean )?CCA": (
        "Canonical correlation analysis finds the directions of two spaces that correlate most. It "
        "ignores any invertible linear map between them and needs many more words than dimensions."
    ),
    r"mutual k-NN": (
        "Mutual k-nearest neighbours: the share of a word's ten nearest neighbours that are the "
        "same words in both models. It compares only the closest words, so it can be low where RSA "
        "is high."
    ),
    r"two pretraining seeds": (
        "Two models of one recipe that differ only in their random seed. The number is how similar "
        "they are to each other at the same layer."
    ),
    r"[Tt]wo runs of one seed|second run(?='s)": (
        "Two trainings of one recipe with the same random seed: initial weights, data and their "
        "order are equal, only rounding differs. No two models of different seeds can be expected "
        "to be more alike."
    ),
    r"JS divergence": (
        "Jensen-Shannon divergence of two distributions over the vocabulary, in bits. 0 means "
        "equal predictions, 1 means that the predictions have nothing in common."
    ),
    r"F1": (
        "The overlap of two answers: the harmonic mean of precision and recall over their words. "
        "1 means the same words, 0 means none in common."
    ),
    r"weight changes?|size of the (?:update|weight change)(?: alone)?": (
        "How far fine-tuning moved the weights, relative to the size of the weights. A model whose "
        "weights moved farther may differ more for this reason alone."
    ),
    r"chance(?: level)?|null": (
        "What the measure gives where there is nothing to find, for instance with sentences or "
        "labels shuffled. A value within the range of chance is no evidence."
    ),
    # probes
    r"UUAS": (
        "Undirected unlabelled attachment score: the share of the parse's edges that are "
        "predicted, ignoring direction and label. Linking adjacent words already finds about four "
        "in ten."
    ),
    r"DSpr\.": (
        "Spearman correlation of predicted and parse distances between words, averaged over "
        "sentence lengths. It asks for the right order of distances, not for the tree itself."
    ),
    r"NSpr\.": (
        "Spearman correlation of predicted and parse depths of words, averaged over sentence "
        "lengths. It asks which words are high in the tree and which are low."
    ),
    r"[Rr]oot accuracy": (
        "The share of sentences in which the word with the smallest predicted depth is the root of "
        "the parse. Always choosing the first word is correct in about a quarter."
    ),
    r"[Ss]electivity": (
        "The score minus what the same probe reaches on random trees or labels that are fixed for "
        "each word. The difference is not due to the probe's own capacity to memorise."
    ),
    r"linear chain|linking adjacent words": (
        "The tree that links each word to the next, in every sentence. It knows no syntax and "
        "still finds about four edges in ten."
    ),
    r"(?:the same model )?untrained(?: model)?": (
        "The same architecture with random weights, given the same words in the same positions. "
        "Its score shows what needs no training."
    ),
    r"position-only(?: baseline)?|position code(?: alone)?|words? places? alone": (
        "A probe whose only input is the position of each word. Its score shows what word order "
        "reveals without a model."
    ),
    r"static window": (
        "The embeddings (layer 0) of a word and of its neighbours, with no Transformer layer run. "
        "What they predict may be known without the layers."
    ),
    r"LAS": (
        "Labelled attachment score: the share of the parse's edges that are predicted with the "
        "right head and the right label. An edge with a wrong label does not count."
    ),
    r"UAS": (
        "Unlabelled attachment score: the share of words whose head in the dependency tree is "
        "predicted correctly. Labels of the dependencies do not count."
    ),
    r"dependency labels?": (
        "The grammatical relation of a word to its head, such as subject or object. It is "
        "predicted from the vectors of both words."
    ),
    r"head distances?": (
        "How many words away the head of a word is, and on which side. It is predicted from the "
        "vector of the word alone."
    ),
    r"word-lookup(?: baseline)?": (
        "A baseline that knows only which word it sees and predicts from that word's labels in "
        "training. It ignores the sentence."
    ),
    r"majority(?: baseline)?": (
        "A baseline that always gives the most frequent answer. A score is informative only as far "
        "as it is higher."
    ),
    r"code length|MDL": (
        "Minimum description length: the number of bits needed to transmit the labels to somebody "
        "who has the vectors. Few bits mean that the label is easy to predict from the vectors."
    ),
    # maps
    r"kernel ridge|ridge": (
        "Least squares with a penalty on large coefficients, chosen on data not used for fitting. "
        "Plain ridge is a linear map; with a kernel the map is non-linear."
    ),
    r"Procrustes": (
        "The best rotation of one space onto the other. It may rotate and reflect, but not stretch."
    ),
    r"invertible network": (
        "A network whose every step can be inverted, so that it maps the two spaces one to one. A "
        "bijection between two spaces would be such a map."
    ),
    r"MLP": (
        "A small network with a hidden layer, a multilayer perceptron. Unlike the invertible "
        "network it may discard information."
    ),
    r"per-(?:sub)?word average": (
        "For each word, the mean of its vectors in the target model, ignoring the source model. "
        "What it predicts, a map may predict by memorising words."
    ),
    r"unseen words": (
        "Words of which no occurrence was used for fitting. A map or probe that has only memorised "
        "its words fails on them."
    ),
    r"held-out (?:rows|error|words|sentences|attention outputs)|held out": (
        "Measured on data that were not used for fitting. Errors on training data would be too low."
    ),
    r"variance": (
        "The mean squared distance of vectors from their mean. The share of it that a map predicts "
        "is 1 minus the map's error."
    ),
    r"round-trip error": (
        "What is lost when a map is followed by its inverse, as a share of the source's variance. "
        "0 means that no information was discarded."
    ),
    r"bijections?": (
        "A map that sends different points to different points and reaches every point. It can "
        "therefore be inverted."
    ),
    r"(?<=\()(?:bend|coupling|residual|monotone|triangular|inversion|twist)(?=\))": (
        "The form of the known bijection, one of seven invertible functions of the vectors. The "
        "option *Forms of the bijection* says what each of them does."
    ),
    r"noisy rotation": (
        "The source rotated and scaled as fits best, plus noise as large as the linear map's "
        "errors. What the maps give on such a target is due to noise, not to the spaces."
    ),
    r"[Ss]titched": (
        "A stitched model computes its lower layers with one model and its upper layers with "
        "another, joined by a map. It works only if the map gives the upper layers what they need."
    ),
    # weights
    r"[Pp]rojectors?": (
        "The subspace of a weight change's leading directions, whatever their size. Two subspaces "
        "are compared by the angles between them, so signs and rotations do not matter."
    ),
    r"[Nn]orms(?: alone)?": (
        "How far each matrix moved, ignoring the direction. The learning rate and the number of "
        "steps also affect it."
    ),
    r"spectrum": (
        "The singular values of each update, divided by its norm. They show how many directions an "
        "update uses, but not which."
    ),
    r"delta": (
        "The update itself, fine-tuned minus base weights, entry by entry. Two updates are "
        "compared by their cosine similarity."
    ),
    r"factors": (
        "The leading left singular vectors of each update, weighted by the roots of their singular "
        "values and averaged over layers. Their signs are arbitrary, so they compare badly."
    ),
    r"original(?= \()": (
        "The leading left singular vectors of each update, averaged over layers, as first "
        "proposed. Their signs and rotations are arbitrary, so they compare badly."
    ),
    r"energy": (
        "The sum of a matrix's squared singular values. The rank at 90 % energy is the number of "
        "directions that hold 90 % of this sum."
    ),
    r"stable rank": (
        "The sum of the squared singular values divided by the largest one. It is 1 where a single "
        "direction holds all of the energy."
    ),
    r"effective rank": (
        "The number of leading directions that together hold a chosen share of a matrix's energy. "
        "A low effective rank means that the weight change uses few directions."
    ),
    r"entropy rank": (
        "The exponential of the entropy of the singular values, taken as shares of their sum. It "
        "counts directions, each by its weight."
    ),
    r"recorded parents?": (
        "The model that a fine-tune was trained from, as its card says; for a checkpoint, the one "
        "before. The trees are built without reading the cards."
    ),
    r"random roots?": (
        "The same trees, each begun at a model drawn at random. The direction from parent to child "
        "is then a guess."
    ),
    r"intruder dimensions?": (
        "Leading directions of a fine-tuned matrix that resemble no direction of the base's "
        "matrix. Low-rank updates tend to have more of them than full fine-tuning."
    ),
    r"Gaussian matrix|random updates?(?: of equal norm)?": (
        "Independent random numbers of the same size, which prefer no direction. What they give is "
        "a baseline for what fine-tuning gives."
    ),
    r"nearest neighbours?|nearest": (
        "The models whose weight changes are most similar by the chosen vector. Distances are "
        "computed in full, not in the plot."
    ),
    r"t-SNE|UMAP": (
        "A plot that keeps near neighbours together and distorts large distances. Its clusters and "
        "gaps mean nothing on their own."
    ),
    # layers
    r"layer swaps?|reverting one layer|[Rr]everted": (
        "A layer's weights are replaced by the base's, and the model is tested again. What it then "
        "loses shows what the model needs of that layer's change."
    ),
    r"frozen layers?": (
        "Layers that were not trained during fine-tuning, so that their weights equal the base's. "
        "A measure of change should find no change in them."
    ),
    r"AUC": (
        "The probability that a changed layer gets a higher score than an unchanged one. .5 is "
        "guessing and 1 is a perfect separation."
    ),
    # uncertainty
    r"p [<=] ?\.\d+": (
        "The share of random relabellings or random updates that give at least this value. Below "
        ".05, a value is called significant."
    ),
    r"significant(?:ly)?": (
        "Unlikely to be noise: the 95 % interval of the difference does not include 0, or p is "
        "below .05. It says nothing about how large the difference is."
    ),
    r"no detectable difference|not detectably different|within noise": (
        "The 95 % interval of the difference includes 0. There may be a small difference that "
        "these data cannot show."
    ),
    r"corrected for \d+(?: [\w-]+)* (?:models|maps|layers|measures|comparisons)": (
        "With several comparisons one of them may look significant by accident. The interval or "
        "p-value is therefore adjusted so that the 5 % hold for all of them together."
    ),
    r"\[-?[+−\d.,\s-]+\]": (
        "95 % interval: of 100 intervals computed in this way, about 95 contain the value that a "
        "much larger sample would give. A difference whose interval includes 0 may be noise."
    ),
}


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    """Match every term, longer ones first, but never inside a name such as nli-0."""
    longest = sorted(MEANINGS, key=len, reverse=True)
    alone = [
        f"(?P<t{number}>(?<![\\w-])(?:{term})(?![\\w-]))" for number, term in enumerate(longest)
    ]
    return re.compile("|".join(alone))


def explained(text: str) -> Iterator[tuple[str, str]]:
    """Split the text into pieces, each with its meaning: "" for plain text and for a term explained
    before."""
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
