"""Costs of this room's studies: forward passes, and measures that compare two spaces layer by
layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.maths.similarity.registry import MEASURES, Options, get_measure
from core.maths.similarity.scoring import JACKKNIFE_GROUPS, null_draws
from core.models import costs
from core.models.loading.language_models import predicts
from core.models.loading.task_models import kind_of
from core.models.patterns import matching_refs
from core.models.sizes import Size
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.rsa.layers.random_changes import MOST_SENTENCES, TURNS
from core.studies.rsa.layers.runs import find_compared, find_references
from core.studies.rsa.swap.interventions import BASE_WAYS, DONOR_WAYS, MOST_KEPT
from core.text.labelled import count_labelled

if TYPE_CHECKING:
    from core.studies.rsa.divergence.spec import DivergenceSpec
    from core.studies.rsa.layers.spec import RsaSpec
    from core.studies.rsa.swap.spec import SwapSpec
    from core.studies.rsa.tokens.spec import TokenMapSpec
    from core.studies.rsa.training.spec import TrainingSpec
    from core.studies.rsa.truth.spec import TruthSpec

PLAIN, SHUFFLED = (
    0.012,
    2.2e-9,
)  # processor seconds of a measure, whatever the size; of a number in a shuffle
PAIRS, PRODUCTS = 1.2e-10, 2.5e-11  # of a pair's dimension; of a multiplication
FACTORED, MATRICES = (
    4e-11,
    {"pearson": 9e-9, "ranks": 1.5e-8},
)  # canonical: of a multiplication; of a matrix's entry
SLOWER = {"cca": 1.0, "svcca": 0.8, "pwcca": 1.6, "procrustes": 0.5}  # than mean CCA
SORTED, COSINES = 6e-8, 6.5e-11  # nearest neighbours: of a pair of items; of its dimension
STRIPS, TABLES = 8, {"cka": 8, "cka-debiased": 10}  # of 512 rows; of a number an item and group
WHOLE_MATRICES = {"pearson": 3.5, "ranks": 6.0}  # matrices over items that are held at once
COPIES = 4  # of the vectors of two models
TESTED = 30_000.0  # of the batch that the self-tests run, times the width: see `vectors.forward`
# tokens of a vocabulary where it is not known; processor seconds per prediction and token of it;
# numbers of a block of logits and what is computed from it
VOCABULARY, PREDICTED, LOGITS = 30_000, 1.5e-8, 8 * 2**22
PASSAGE = 2.0  # processor seconds of a token map beside its models
ROTATED = 0.2  # of a random change, whatever the width
ROUNDINGS, SWAPPED = 4, 0.6  # of a frozen fine-tune; of a pass that a layer swap runs


def scoring(
    measure: str,
    kernel: str,
    comparison: str,
    items: float,
    width: int,
    sentences: float,
) -> float:
    """Estimate the processor seconds of one layer: the similarity, its band and its chance
    level."""
    options = Options(kernel, comparison)
    null = null_draws(get_measure(measure, options), round(items), width, options)
    once = comparing(measure, items, width)
    if measure in SLOWER:
        return PLAIN + once * (1 + JACKKNIFE_GROUPS + null)
    if measure == "knn":
        return PLAIN + 3 * once  # neighbours are found once for each of estimate, band and null
    seconds = PLAIN + once + SHUFFLED * null * items * width
    if measure == "cosine":
        return seconds
    seconds += PAIRS * items**2 * (width + 50)
    if measure in TABLES:
        seconds += TABLES[measure] * 8e-9 * min(JACKKNIFE_GROUPS, sentences) * items
    if measure == "rsa" and _whole(kernel, comparison):
        return seconds + MATRICES[_whole(kernel, comparison)] * null * items**2
    return seconds + PRODUCTS * null * items * width * min(items, width)


def comparing(measure: str, items: float, width: int) -> float:
    """Estimate the processor seconds of one similarity alone."""
    if measure in SLOWER:
        return SLOWER[measure] * FACTORED * (items * width**2 + 20.0 * min(items, width) ** 3)
    if measure == "knn":
        return (SORTED + COSINES * width) * items**2
    return 3 * PRODUCTS * items * width * min(items, width)


def holding(measure: str, kernel: str, comparison: str, items: float, sentences: float) -> float:
    """Estimate the peak memory of scoring one layer, without the vectors, in bytes."""
    held = STRIPS * 512 * items * costs.DOUBLE
    if measure in TABLES:
        held += TABLES[measure] * items * min(JACKKNIFE_GROUPS, sentences) * costs.DOUBLE
    if measure == "rsa" and _whole(kernel, comparison):
        held += WHOLE_MATRICES[_whole(kernel, comparison)] * items**2 * costs.DOUBLE
    return held


def _whole(kernel: str, comparison: str) -> str:
    """Name the comparison that holds whole matrices over items; "" if none does."""
    return "ranks" if comparison != "pearson" else "pearson" if kernel == "euclidean" else ""


def rsa_price(spec: RsaSpec) -> Price:
    """Estimate the price of the main study."""
    compared, references = find_compared(spec.base, spec.compare).refs, find_references(spec)
    sizes = costs.sizes_of((spec.base, *compared, *references))
    sentences = costs.sentences_of(spec)
    items = min(spec.words, costs.WORDS * sentences) if spec.items == "words" else sentences
    texts = 2 if spec.second_corpus else 1
    tasks = [costs.STARTING]
    for ref in (*compared, *references):
        if ref in sizes and spec.base in sizes:
            base, size = sizes[spec.base], sizes[ref]
            width, states = max(base.d_model, size.d_model), base.layers + 1
            work = scoring(spec.measure, spec.kernel, spec.comparison, items, width, sentences)
            if spec.drop_influential:
                work += PAIRS * items**2 * (width + 50)
            part = texts + spec.functions if ref in compared else 1
            tasks += [work * states] * part
            if spec.functions and ref in compared:
                tasks.append(costs.vectors(size, sentences) + costs.states(base, sentences))
                tasks.append(_random_changes(spec, base, size, items, sentences))
            if spec.grid and ref in compared:
                tasks.append(
                    (comparing(spec.measure, items, width) + PLAIN / 5) * states * (size.layers + 1)
                )
    tasks += [costs.vectors(size, sentences * texts) for size in sizes.values()]
    at_once = min(TASKS_AT_ONCE, len(compared) + len(references))
    held = holding(spec.measure, spec.kernel, spec.comparison, items, sentences)
    memory = at_once * (
        held + COPIES * _most_numbers(sizes, items) * costs.SINGLE
    ) + costs.resident(sizes, sentences) * (1 + spec.functions)
    kept = sum(costs.stored(size, sentences * texts) for size in sizes.values())
    if spec.functions:
        tuned = [sizes[ref] for ref in compared if ref in sizes]
        turned = TURNS * min(sentences, MOST_SENTENCES)
        kept += sum(costs.stored(size, sentences + turned) for size in tuned)
    return costs.price_of(sizes, tasks, memory, store=kept, work=costs.counted(len(sizes), "model"))


def _random_changes(spec: RsaSpec, base: Size, size: Size, items: float, sentences: float) -> float:
    """Estimate the processor seconds of rotating a model's change and comparing the outputs."""
    few = min(sentences, MOST_SENTENCES)
    width = base.d_model
    scored = scoring(
        spec.measure, spec.kernel, spec.comparison, items * few / sentences, width, few
    )
    read = 2 * costs.vectors(size, few) + ROTATED + _turning(size, 1)
    return TURNS * read + (TURNS + 1) * (base.layers + 1) * scored


def training_price(spec: TrainingSpec) -> Price:
    """Estimate the price of comparing every checkpoint with the final model."""
    refs = (*spec.checkpoints, *spec.others)
    sizes, sentences = costs.sizes_of((spec.end, *refs)), costs.sentences_of(spec)
    items = min(spec.words, costs.WORDS * sentences)
    tasks = [costs.STARTING, *(costs.vectors(size, sentences) for size in sizes.values())]
    for ref in refs:
        if ref in sizes and spec.end in sizes:
            end = sizes[spec.end]
            work = scoring(spec.measure, "cosine", "pearson", items, end.d_model, sentences)
            # chance level of the best layer: about half of a score
            tasks += [work * (end.layers + 1) * (1.5 if ref in spec.checkpoints else 1.0)]
    held = holding(spec.measure, "cosine", "pearson", items, sentences)
    at_once = min(TASKS_AT_ONCE, len(refs))
    memory = at_once * (
        held + COPIES * _most_numbers(sizes, items) * costs.SINGLE
    ) + costs.resident(sizes, sentences)
    kept = sum(costs.stored(size, sentences) for size in sizes.values())
    return costs.price_of(sizes, tasks, memory, store=kept, work=costs.counted(len(sizes), "model"))


def divergence_price(spec: DivergenceSpec) -> Price:
    """Estimate the price of comparing predictions: a pass a word, and the vocabulary's matrix."""
    refs = tuple(ref for text in (*spec.compare, *spec.others) for ref in matching_refs(text))
    sizes, sentences = costs.sizes_of((spec.base, *refs)), costs.sentences_of(spec)
    tokens = costs.SUBWORDS * sentences
    tasks = [costs.STARTING, *(costs.vectors(size, sentences) for size in sizes.values())]
    items = min(spec.words, costs.WORDS * sentences)
    for ref in refs:
        for size in (sizes[name] for name in (spec.base, ref) if name in sizes):
            predicted = VOCABULARY * (size.d_model * costs.PASSING * 2 + PREDICTED)
            causal = predicts(size.architecture) == "causal"
            passes = 1.0 if causal or spec.masking != "masked" else costs.WORDS
            tasks.append(
                costs.passes(size, sentences, passes)
                + tokens * predicted
                + size.layers * (scoring("rsa", "cosine", "pearson", items, size.d_model,
                                         sentences) + 1e-8 * items**2) / 2
            )  # fmt: skip
    memory = TASKS_AT_ONCE * (2 * costs.resident(sizes, head=True) + LOGITS * costs.SINGLE)
    memory = max(memory, costs.resident(sizes, sentences)) + 4 * 512 * items * costs.DOUBLE
    kept = sum(costs.stored(size, sentences) for size in sizes.values())
    return costs.price_of(sizes, tasks, memory, store=kept, work=costs.counted(len(sizes), "model"))


def tokens_price(spec: TokenMapSpec) -> Price:
    """Estimate the price of a token map: one passage through each model."""
    sizes = costs.sizes_of(spec.models)
    tasks = [costs.STARTING + PASSAGE, *(costs.vectors(size, 5) for size in sizes.values())]
    widest = max((size.d_model for size in sizes.values()), default=0)
    tasks.append(5e-10 * widest**3)  # the axes of all layers together
    return costs.price_of(
        sizes,
        tasks,
        costs.resident(sizes, 5) + 3 * widest**2 * costs.DOUBLE,
        work=costs.counted(len(sizes), "model"),
    )


def swap_price(spec: SwapSpec) -> Price:
    """Estimate the price of layer swaps: every swap runs the layers above it again."""
    compared = find_compared(spec.base, spec.compare).refs
    sizes = costs.sizes_of((spec.base, *compared))
    labelled = count_labelled(spec.labelled)
    scored = {ref: _scored(spec, size, labelled) for ref, size in sizes.items()}
    # Of a fine-tune's two tasks, the kinds of swap and the donors.
    shared_out = (
        (len(BASE_WAYS) + len(DONOR_WAYS) * spec.random, 1 + spec.random),
        (len(DONOR_WAYS) * spec.noises, spec.noises),
    )
    tasks = [costs.STARTING]
    for ref in compared:
        if ref in sizes:
            size, sentences = sizes[ref], scored[ref]
            tested = (
                min(sentences, TESTED / size.d_model) * 2 * (size.layers + 1)
            )  # passes of single sentences
            for ways, donors in shared_out:
                passes = SWAPPED * ways * (size.layers + 1) + 2 * donors
                tasks.append(
                    costs.opening(size) * (2 + donors)
                    + costs.passing(size, sentences * passes + tested)
                )
            tasks[-1] += _turning(size, spec.noises)
    at_once = min(TASKS_AT_ONCE, len(tasks) - 1)
    largest = max((size.parameters for size in sizes.values()), default=0)
    states = max(
        (min(float(MOST_KEPT), costs.stored(sizes[ref], scored[ref]) * 3) for ref in sizes),
        default=0.0,
    )
    memory = at_once * (4 * largest * costs.SINGLE + states)
    return costs.price_of(sizes, tasks, memory, work=costs.counted(len(compared), "fine-tune"))


def _scored(spec: SwapSpec, size: Size, labelled: int) -> float:
    """Count the sentences that a fine-tune is scored on: all labelled ones, or those of the text
    whose words its head labels; the more where its head is not known."""
    if kind_of(size.architecture) == "sentence":
        return float(labelled)
    words = costs.sentences_of(spec)
    return words if size.architecture else max(words, float(labelled))


def _turning(size: Size, turns: int) -> float:
    """Estimate the processor seconds of rotating a fine-tune's change at random."""
    return turns * size.layers * 12 * 8e-11 * size.d_model**3


def truth_price(spec: TruthSpec) -> Price:
    """Estimate the price of the benchmark: models are rounded or planted, and every measure
    compares each."""
    refs = (*spec.compare, *spec.planted)
    sizes, sentences = costs.sizes_of((spec.base, *refs)), costs.sentences_of(spec)
    items = min(spec.words, costs.WORDS * sentences)
    tasks = [costs.STARTING]
    for kind, group in (("frozen", spec.compare), ("planted", spec.planted)):
        for number, ref in enumerate(ref for ref in group if ref in sizes):
            size = sizes[ref]
            models = ROUNDINGS if kind == "frozen" else spec.plants
            readings = 1 if kind == "frozen" else 2
            passes = 1 + models * (1 if kind == "frozen" else 4)
            costs_of = {
                measure: comparing(measure, items, size.d_model) + PLAIN / 5
                for measure in spec.measures
            }
            shared = [costs_of.pop(name) for name in spec.measures if MEASURES[name].canonical]
            once = sum(costs_of.values()) + max(shared, default=0.0)  # of one decomposition
            rounding = models * 4e-8 * size.parameters
            work = 2 * costs.opening(size) + costs.passing(size, sentences, passes) + rounding
            work += once * (size.layers + 1) * models * readings
            tasks += [work] * (
                2 if number else 1
            )  # matched in size too, but for the smallest change
    largest = max((size.parameters for size in sizes.values()), default=0) * costs.SINGLE
    memory = TASKS_AT_ONCE * (3 * largest + 4 * _most_numbers(sizes, items) * costs.DOUBLE)
    return costs.price_of(sizes, tasks, memory, work=costs.counted(len(refs), "fine-tune"))


def _most_numbers(sizes: dict[str, Size], items: float) -> float:
    """Count the numbers in the largest model's vectors of these items, in all layers."""
    return max(((size.layers + 1) * size.d_model * items for size in sizes.values()), default=0.0)
