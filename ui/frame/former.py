"""Names of studies, views and options in links of earlier versions: they are read, and never
written."""

from __future__ import annotations

from collections.abc import Mapping

VIEWS: Mapping[str, tuple[str, ...]] = {  # a view's former name -> its names, one a page
    "Layers exchanged": ("Layer swap",),
    "Known truth": ("Benchmark with known answers",),
    "Through training": ("Similarity through training", "Probes through training"),
}
OPTIONS: Mapping[str, Mapping[str, str]] = {  # study -> option -> its former name
    "training": {"at_most": "steps_most"},
    "divergence": {"compare": "language_models", "others": "language_baselines"},
    "audit": {
        **{"models": "audited", "end": "audited_end", "kind": "audited_as"},
        "at_most": "audited_most",
    },
    "swap": {"noises": "swap_noises", "random": "swap_random", "frozen": "swap_frozen"},
    "truth": {"measures": "truth_measures"},
    "probe edges": {"controls": "control_labels", "conditional": "beside_window"},
    "probe polar": {"weight": "angles", "controls": "label_controls"},
    "probe training": {
        **{"at_most": "steps_most", "controls": "step_controls", "score": "step_score"},
    },
    "probe removal": {
        **{"rank": "erased_rank", "scored": "scored_sentences", "kinds": "erased_kinds"},
        "pairs": "erased_pairs",
    },
    "probe behaviour": {"models": "scored", "kinds": "pair_kinds"},
    "weights intruders": {"models": "intruder_models", "threshold": "cosine"},
    "weights lineage": {"models": "lineage_models", "pair": "lineage_pair"},
    # younger than such links; without a name of its own it would take that of intruders
    "weights arithmetic": {"draws": "sum_draws"},
    "align rotation": {"draws": "planted_rotations"},
    "align stitch": {"models": "stitch_models", "methods": "stitch_methods"},
    "align check": {"layer": "check_layer", "methods": "check_methods"},
    "align attention": {"methods": "attention_methods"},
    "align protocol": {
        **{"tuned": "protocol_tuned", "length": "protocol_length", "steps": "protocol_steps"},
    },
}


def of_today(given: Mapping[str, list[str]]) -> Mapping[str, list[str]]:
    """Return a link with the study that it asks for today: scaling intruders was an option of
    looking for them."""
    linked = given.get("study") == ["weights intruders"]
    if "scaling" not in given or not (linked or given.get("view") == ["Intruders"]):
        return given
    names = {former: name for name, former in OPTIONS["weights intruders"].items()}
    of_page = () if linked else tuple(names.values())  # which were of the page's main study
    gone = ("scaling", "draws", "view", *of_page)
    kept = {names.get(name, name): texts for name, texts in given.items() if name not in gone}
    return {**kept, "study": ["weights scaling"]}


def former_name(study: str, option: str, *, added: bool) -> str:
    """Return the name in links of an option of a study (words of its command) beside a page's main
    one; `added` where another package adds the study; "" where the study is younger."""
    if added:
        return f"{study.replace(' ', '_')}_{option}"
    if study not in OPTIONS:
        return ""
    return OPTIONS[study].get(option, option)
