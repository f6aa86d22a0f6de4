"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.maths.structural.positions import SIZE
from core.models import costs
from core.runs.price import Price
from core.studies.probes.prices import DRAWN, EPOCHS, PARSING, USED, WINDOW_WORDS, bytes_to_train
from core.studies.probes.trees.planning import in_precision, training_of_bank

if TYPE_CHECKING:
    from core.studies.probes.trees.spec import ProbeSpec
    from extras.probes.polar.spec import PolarSpec

POLAR = 2.5  # training of a polar probe but for its angles, over that of a distance probe
ANGLES = 2.5e-8  # processor seconds per word and rank to turn the edges
DIRECTED = 6e-5  # processor seconds per sentence of the text to direct and label predicted edges


def polar_price(spec: PolarSpec) -> Price:
    """The price of polar probes: banks on real and on control labels, and on each static window."""
    probes = spec.as_probes
    sizes, sentences = costs.sizes_of(spec.probed), costs.sentences_of(spec)
    words = costs.WORDS * sentences
    tasks = [costs.STARTING, PARSING * sentences]
    for ref, size in sizes.items():
        states = len(spec.layers) or size.layers + 1
        tasks.append(costs.vectors(size, sentences))
        draws = spec.seeds + (spec.controls if ref in spec.models else 0)
        arcs = _arcs(probes, size.d_model, words, sentences, in_precision(size))
        tasks.append(states * draws * arcs)
        if ref in spec.models:
            trials = [
                _arcs(probes, wide * size.d_model, words, sentences, in_precision(size))
                for wide in (*WINDOW_WORDS, *[USED] * spec.seeds)
            ]
            tasks.append(sum(trials))
    tasks.append(spec.seeds * _arcs(probes, SIZE, words, sentences))
    memory = bytes_to_train(sizes, spec.layers, words)
    kept = sum(costs.stored(size, sentences) for size in sizes.values())
    return costs.price_of(sizes, tasks, memory, store=kept, work=costs.counted(len(sizes), "model"))


def _arcs(
    spec: ProbeSpec, width: int, words: float, sentences: float, precision: float = 1.0
) -> float:
    """Processor seconds to train one polar probe and to direct the edges of the test sentences."""
    rank = min(spec.rank, width)
    bank = POLAR * precision * training_of_bank(spec, "distance", rank, width, words)
    angles = ANGLES * min(spec.epochs, EPOCHS) * words * rank
    return bank + angles + sentences * (DIRECTED + DRAWN * 0.1 * spec.draws)
