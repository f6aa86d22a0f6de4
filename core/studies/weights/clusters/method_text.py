"""Papers and methods of the study."""

from __future__ import annotations

from collections.abc import Sequence

from core.models.weights.families import family_label
from core.studies.text_kit import text_of, words_beside
from core.studies.weights.activations import SENTENCES, every_vector
from core.studies.weights.clusters.members import Member
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.tables import Scored
from core.studies.weights.ranks import Spectra
from core.studies.weights.unlabelled import WORDS

CITATIONS = (
    "vectorsinthewild",
    "hu2022",
    "ilharco2023",
    "roy2007",
    "marchenko1967",
    "phipson2010",
    "hubert1985",
    "hurvich1989",
    "kruskal1964",
)
CLUSTERING = {
    "agglomerative": "average-linkage agglomerative clustering",
    "hdbscan": "HDBSCAN",
}
said = words_beside(__file__).sentence
STATE_CITATIONS = ("xu2025",)  # where delta activations are computed


def make_methods(
    spec: WeightsSpec, members: Sequence[Member], scored: Scored, spectra: Spectra
) -> str:
    """A methods paragraph, ready to paste."""
    families = (
        ", ".join(dict.fromkeys(map(family_label, spectra.matrices["family"])))
        if len(spectra.matrices)
        else "none"
    )
    vector = every_vector()[spec.vector]
    parts = {  # whether a sentence holds
        said(
            "compared", models=len(members), base=spec.base, families=families,
            vector=spec.vector, meaning=vector.meaning,
        ): True,
        said("directions", rank=spec.rank): vector.ranked,
        said("states", sentences=SENTENCES): spec.reads_states,
        said(
            "neighbours", label=WORDS[spec.label_by], permutations=spec.permutations, k=scored.k
        ): scored.k,
        said("clusters", method=CLUSTERING[spec.method]): True,
        said("ranks", threshold=text_of(spec.threshold, "setting")): True,
    }  # fmt: skip
    return " ".join(sentence for sentence, holds in parts.items() if holds)
