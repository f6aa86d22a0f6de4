"""The pure tasks of edge probing: classifiers of one target on one model, and its baselines.

A value holds `layers`; for the real labels and then each draw of control labels, NaN where it is
not fitted: `correct` and `unseen_correct` (layer, set, test sentence), `dev` (layer, set), shares,
and `bits` (layer, set, training sentence); `penalties` (layer,); `items` and `unseen` (test
sentence,), `coded` (training sentence,), `classes`; `notices`; of windows the `reach` (layer,).
A penalty of 0 is chosen for each layer on the development sentences; features have deviation 1.
Training sentences stand in the order in which their labels are coded.
"""

from __future__ import annotations

from itertools import groupby, islice
from typing import TYPE_CHECKING

import numpy as np

from core.models import describe, load_tokenizer
from core.studies.probes.edges import coding, costs
from core.studies.probes.edges.items import Tags, drawn_controls, edge_items
from core.studies.probes.trees.data import PartSizes, Trees
from core.studies.probes.trees.rival_tasks import BASELINES, read_with_embeddings, tag_windows
from core.studies.probes.trees.tables import TAGS
from core.studies.probes.trees.tasks import read_vectors
from core.studies.task_kit import Cost, Value, as_identified, pure, span, tick
from core.vectors.window import of_best_reach

if TYPE_CHECKING:
    from torch import Tensor


LARGEST = 2**25  # bytes of features in memory at once; further layers are processed after
MAJORITY, LOOKUP, PLACES = "majority", "word identity", "position only"


@pure("probes.edges", version=5, guard=as_identified, cost=costs.layers_cost)
def probe_edges(
    model: str,
    model_identity: str,
    target: str,
    trees: Trees,
    tags: Tags,
    sizes: PartSizes,
    layers: tuple[int, ...],
    penalty: float,
    controls: int,
    seed: int,
    controlled: tuple[int, ...] = (),
) -> Value:
    """Fit a linear classifier to each layer, code the training labels, score the other sentences;
    as many draws of `controls`, at the layers `controlled` (none for all). Raises ModelError if the
    model cannot be loaded."""
    import torch

    words, frame = trees.words, _frame(target, trees, tags, sizes)
    true, forms = frame.labels[: frame.training], load_tokenizer(model).forms(words)
    drawn = drawn_controls(forms, frame.items, true, len(frame.classes), target, seed)
    labels = torch.from_numpy(np.stack([frame.labels, *islice(drawn, controls)]))
    width = (describe(model).d_model * (1 + frame.with_heads) + 1) * 4 * len(frame.items)
    together = max(1, LARGEST // width)
    parts: list[Value] = []
    notices: list[str] = []
    controlled = controlled or layers
    runs = [tuple(run) for _, run in groupby(layers, controlled.__contains__)]
    starts = [(run, first) for run in runs for first in range(0, len(run), together)]
    for chosen in (run[first : first + together] for run, first in starts):
        low = layers.index(chosen[0]) / len(layers)
        high = low + len(chosen) / len(layers)
        with span(low, low + 0.3 * (high - low)):
            vectors, more = read_vectors(model, words, chosen)
        notices += [notice for notice in more if notice not in notices]
        features = frame.features(vectors)
        del vectors
        with span(low + 0.3 * (high - low), high):
            sets = labels if chosen[0] in controlled else labels[:1]
            parts.append(coding.score_classifiers(features, sets, penalty, frame))
    return frame.output(parts, layers, notices)


@pure("probes.edge_window", version=5, guard=as_identified, cost=costs.window_cost)
def probe_window(
    model: str,
    model_identity: str,
    target: str,
    trees: Trees,
    tags: Tags,
    sizes: PartSizes,
    penalty: float,
) -> Value:
    """Fit a linear classifier to the model's static window, the score that no layer is needed for;
    reach and penalty are chosen on the development sentences. Raises ModelError as
    `probe_edges`."""
    with span(0.0, 0.2):
        _, embeddings, notices = read_with_embeddings(model, trees.words)
    frame = _frame(target, trees, tags, sizes)
    with span(0.2, 0.6):
        window, reach, chosen = _chosen_window(embeddings, trees, frame, penalty)
    with span(0.6, 1.0):
        scored = _fitted(window, frame, chosen)
    return frame.output([scored], [0], notices, reach=np.array([reach]))


@pure("probes.edge_conditional", version=4, guard=as_identified, cost=costs.beside_cost)
def probe_beside_window(
    model: str,
    model_identity: str,
    target: str,
    trees: Trees,
    tags: Tags,
    sizes: PartSizes,
    layers: tuple[int, ...],
    penalty: float,
) -> Value:
    """Fit a linear classifier to each layer beside the static window that predicts best alone, and
    to zeros beside it, as the last layer (Hewitt et al. 2021, EMNLP, who compare cross-entropies).
    Raises ModelError as `probe_edges`, SpecError if there is no such layer."""
    import torch

    with span(0.0, 0.2):
        states, embeddings, notices = read_with_embeddings(model, trees.words, layers)
    frame = _frame(target, trees, tags, sizes)
    with span(0.2, 0.4):
        window, reach, _ = _chosen_window(embeddings, trees, frame, penalty)
    beside = frame.features(window[:, None])[..., :-1]
    labels, parts = _labels(frame), []
    together = max(1, LARGEST // (4 * (beside.numel() + len(frame.items) * states.shape[-1])))
    for first in range(0, len(layers) + 1, together):
        chosen = states[:, first : first + together]
        with span(
            *(0.4 + 0.6 * min(1.0, at / (len(layers) + 1)) for at in (first, first + together))
        ):
            features = frame.features(chosen)
            if first + together > len(layers):
                nothing = torch.zeros(1, *features.shape[1:])
                nothing[..., -1] = 1.0  # the constant
                features = torch.cat([features, nothing])
            features = torch.cat([beside.expand(len(features), -1, -1), features], dim=2)
            parts.append(coding.score_classifiers(features, labels, penalty, frame))
    numbers = (*layers, max(layers) + 1)
    return frame.output(parts, numbers, notices, reach=np.full(len(numbers), reach))


def _chosen_window(
    embeddings: np.ndarray, trees: Trees, frame: coding.Frame, penalty: float
) -> tuple[np.ndarray, int, Tensor]:
    """The static window that predicts the development items best; its reach and penalty."""
    labels = _labels(frame)
    penalties: dict[int, Tensor] = {}

    def score(window: np.ndarray) -> float:
        features = frame.features(window[:, None])
        penalties[window.shape[1]], shares = coding.choose_penalties(
            features, labels, penalty, frame
        )
        return float(shares[0])

    window, reach = of_best_reach(embeddings, trees.lengths, score)
    return window, reach, penalties[window.shape[1]]


@pure("probes.edge_tags", version=4, cost=costs.tags_cost)
def score_tags(
    target: str, trees: Trees, tags: Tags, sizes: PartSizes, classes: Tags, penalty: float
) -> Value:
    """Fit a linear classifier to parts of speech, the score that word classes reach; the two
    "layers" are those of `trees.tables.TAGS`."""
    frame, parts = _frame(target, trees, tags, sizes), []
    for number, reach in enumerate(TAGS):
        with span(number / len(TAGS), (number + 1) / len(TAGS)):
            parts.append(_fitted(tag_windows(classes, reach), frame, penalty))
    return frame.output(parts, range(len(TAGS)))


@pure("probes.edge_rivals", version=5, cost=lambda models, /, **_: Cost(BASELINES))
def score_rivals(target: str, trees: Trees, tags: Tags, sizes: PartSizes, penalty: float) -> Value:
    """Code and score baselines like a model; the three "layers" are MAJORITY, LOOKUP and PLACES."""
    import torch

    frame = _frame(target, trees, tags, sizes)
    items = frame.items
    contexts = coding.word_contexts(items, trees.words)
    nothing: coding.Contexts = [()] * len(items)
    tables = [coding.score_counts(table, frame) for table in (nothing, contexts)]
    tick(0.3, "position-only baseline")
    features = coding.place_features(items, trees.lengths)
    # in one unit for all: divided by its own deviation, a rare position would hardly be penalised
    features = features / features[: frame.training].std()
    features = np.concatenate([features, np.ones((len(items), 1, 1), features.dtype)], axis=2)
    wide = torch.from_numpy(features).transpose(0, 1).contiguous()
    with span(0.3, 1.0):
        places = coding.score_classifiers(wide, _labels(frame), penalty, frame)
    return frame.output([*tables, places], range(3))


def _frame(target: str, trees: Trees, tags: Tags, sizes: PartSizes) -> coding.Frame:
    """The items of a target."""
    items = edge_items(target, trees.heads, trees.keep, tags)
    return coding.Frame(items, trees.words, sizes)


def _fitted(vectors: np.ndarray, frame: coding.Frame, penalty: float | Tensor) -> Value:
    """Code and score one linear classifier of word vectors (word, feature), without controls."""
    features = frame.features(vectors[:, None])
    return coding.score_classifiers(features, _labels(frame), penalty, frame)


def _labels(frame: coding.Frame) -> Tensor:
    """The real labels as one set."""
    import torch

    return torch.from_numpy(frame.labels[None])
