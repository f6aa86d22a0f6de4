"""The parts of the RSA page that have controls of their own: the second text, the token map, and what to beware of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.rsa import charts
from core.rsa.kernels import KERNELS
from core.rsa.rdm import COMPARISONS
from core.rsa.spec import ITEMS, RsaSpec, short_names
from core.rsa.tokens import TokenMapSpec, run_tokens
from core.text.corpora import GENRES
from ui import controls
from ui.downloads import show_downloads
from ui.results import show_charts, show_headline, show_method
from ui.run_panel import run_panel
from ui.studies import contents

if TYPE_CHECKING:
    from core.results.export import Result

YARDSTICKS = "Another pretraining seed of the box and random weights, for scale."
SAME = "the same text"
PASSAGE = (
    "Where did the captain hide the letter? The captain read the letter twice, folded it and hid it under a loose "
    "board in the kitchen, because the soldiers were already at the gate."
)
HIGHLIGHT = "where, hide, hid, letter, kitchen"
FORMULAS = {
    "RSA: correlation of two models' similarities of the same pairs of items": (
        r"\rho = \operatorname{corr}_{i<j}\bigl(k(x_i, x_j),\; k(y_i, y_j)\bigr),"
        r"\qquad k(a, b) = \frac{a \cdot b}{\lVert a \rVert \lVert b \rVert}"
    ),
    "Linear CKA, columns centred; debiased, each HSIC is replaced by its unbiased estimate": (
        r"\mathrm{CKA} = \frac{\lVert X^\top Y \rVert_F^2}{\lVert X^\top X \rVert_F \, \lVert Y^\top Y \rVert_F}"
    ),
    "Mean CCA over the canonical correlations; PWCCA weights them, SVCCA keeps 99 % of the variance first": (
        r"\bar\rho = \frac{1}{d} \sum_{i=1}^{d} \rho_i"
    ),
}
CAVEATS = """
**What would mislead you here**

- **Rogue dimensions.** Two outlier dimensions shared by both models, out of 768 on otherwise unrelated vectors, give
  RSA .998; standardised, .002. Compare the curve with *Standardise dimensions* on, or drop the largest few.
- **Biased CKA has a null far from 0.** With d = 768, unrelated spaces score .44 at 1,000 items and .13 at 5,000;
  debiased CKA scores .00 at both. Read each curve against its grey band.
- **CCA needs many more items than dimensions.** With n ≤ d any two spaces correlate perfectly; at d = 768 mean CCA of
  unrelated spaces is still .83 at 1,000 items and .34 at 5,000. Sample more words, or use RSA or debiased CKA.
- **Similar is not the same.** The cosine compares vectors coordinate by coordinate; the other measures forgive a
  rotation of the whole space, CCA any invertible linear map. A high curve says that the geometry survived.
- **The band is over sentences, not over fine-tuning runs.** Another seed of the same fine-tune may lie outside it.
  The dashed yardsticks show what a different pretraining seed and random weights score.
"""


def rsa_options(words: int) -> dict[str, Any]:
    """Controls that most readers leave alone, as fields of the spec.

    Args:
        words: Words sampled, to begin with.
    """
    bound: dict[str, Any] = {"bind": "query-params"}
    return {
        "items": st.selectbox("Items", list(ITEMS), key="items", help="; ".join(ITEMS.values()), **bound),
        "sample": int(st.number_input("Words sampled", 10, 20_000, words, step=100, key="words", **bound)),
        "standardise": st.toggle("Standardise dimensions", key="standardise", **bound),
        "drop_rogue": int(st.number_input("Rogue dimensions dropped", 0, 64, 0, key="rogue", **bound)),
        "kernel": st.selectbox("Kernel of RSA", list(KERNELS), key="kernel", **bound),
        "comparison": st.selectbox("Comparison of RSA", list(COMPARISONS), key="comparison", **bound),
        "draws": int(st.number_input("Bootstrap draws", 20, 10_000, 500, step=100, key="draws", **bound)),
        "seed": int(st.number_input("Seed", 0, 2**31 - 1, 0, key="seed", **bound)),
        "yardsticks": st.toggle("Yardsticks", True, key="yardsticks", help=YARDSTICKS, **bound),
    }


def second_text(spec: RsaSpec) -> RsaSpec:
    """Controls of the text to show beside the first; the spec with it."""
    with st.form("second", border=False):
        source, genres, button = st.columns([2, 4, 1], vertical_alignment="bottom")
        given = source.selectbox(
            "Beside it",
            [SAME, *(ref for ref in controls.TEXTS if ref != controls.UPLOAD)],
            key="against",
            bind="query-params",
            help="Another text, or other genres of the same one: what fine-tuning changes may depend on the domain.",
        )
        chosen = genres.multiselect(
            "Its genres", GENRES, default=["legal", "technical"], key="against_genre", bind="query-params", wrap=True
        )
        button.form_submit_button("Show", width="stretch")
    against = "" if given == SAME else str(given)
    if not (against or chosen):
        st.info("Choose another text or some of its genres.", icon=":material/info:")
        st.stop()
    return replace(spec, against=against, against_genres=tuple(genre for genre in GENRES if genre in chosen))


def token_map(spec: RsaSpec) -> None:
    """The words of a passage through the layers, the base beside the compared models."""
    with st.form("passage", border=False):
        passage = st.text_area("Sentence or short passage", PASSAGE, key="passage_text", max_chars=2_000)
        left, button = st.columns([6, 1], vertical_alignment="bottom")
        marked = left.text_input("Words to highlight", HIGHLIGHT, key="highlight", bind="query-params", max_chars=300)
        again = button.form_submit_button("Draw", width="stretch")
    if not passage.strip():
        st.info("Write a sentence.", icon=":material/info:")
        return
    words = tuple(word.strip() for word in (marked or "").split(",") if word.strip())
    tokens = TokenMapSpec(models=(spec.base, *spec.compare), text=passage, highlight=words)
    result = run_panel(
        "token map",
        tokens,
        lambda progress, cancel: run_tokens(tokens, progress=progress, cancel=cancel),
        identity=contents(*tokens.models),
        again=again,
    )
    if result is None:
        return
    show_headline(result)
    if len(result.table):
        _draw_layer(result)
    show_method(result, "Distances in two dimensions are not the distances of the whole space: see the shares above.")


@st.fragment
def _draw_layer(result: Result) -> None:
    """The slider and its maps: nothing is computed, the coordinates of every layer are there."""
    models = list(dict.fromkeys(result.table["model"]))
    names = short_names(tuple(models))
    top = int(result.table["layer"].max())
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    layer = left.slider("Layer", 0, top, top, key="layer", bind="query-params")
    shown = right.pills(
        "Models", models, selection_mode="multi", default=models[:2], format_func=names.__getitem__, key="map_models"
    )
    drawn = [model for model in models if model in shown] or models[:1]
    show_charts([charts.token_chart(result, layer, model) for model in drawn], key="map", alt_text=result.headline)
    show_downloads(result, lambda: charts.token_chart(result, layer), lambda: charts.figures(result))
