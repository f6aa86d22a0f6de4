"""All studies. Whatever goes over the studies goes over this: commands, pages, prices, precomputed results, tests."""

from __future__ import annotations

from core.alignment.attention.study import STUDY as ATTENTION
from core.alignment.check.study import STUDY as CHECK
from core.alignment.published.study import STUDY as PROTOCOL
from core.alignment.seeds.study import STUDY as ALIGN
from core.alignment.stitching.study import STUDY as STITCH
from core.probes.edges.study import STUDY as EDGES
from core.probes.training.study import STUDY as PROBE_TRAINING
from core.probes.trees.study import STUDY as PROBE
from core.rsa.layers.study import STUDY as RSA
from core.rsa.swap.study import STUDY as SWAP
from core.rsa.tokens.study import STUDY as TOKENS
from core.rsa.training.study import STUDY as TRAINING
from core.rsa.truth.study import STUDY as TRUTH
from core.study import Study
from core.weights.clusters.study import STUDY as WEIGHTS
from core.weights.intruders.study import STUDY as INTRUDERS

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        *(RSA, TOKENS, SWAP, TRUTH, TRAINING),
        *(PROBE, EDGES, PROBE_TRAINING),
        *(WEIGHTS, INTRUDERS),
        *(ALIGN, CHECK, STITCH, PROTOCOL, ATTENTION),
    )
}
