"""The parts of the weight clustering page that have controls of their own: map, neighbours, distances, depth, hub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import PalimpsestError
from core.models import parse_ref
from core.models.hub_listing import Listed, choose_listed, list_fine_tunes
from core.weights import charts, rank_charts
from core.weights.maps import FEWEST, METHODS
from core.weights.members import PATTERN, fine_tunes, read_label_table
from core.weights.study import draw
from ui import controls, shell
from ui.downloads import show_downloads
from ui.figures import paired_colours, show_charts, themed
from ui.results import show_table
from ui.text import plain

if TYPE_CHECKING:
    import numpy as np

    from core.results.export import Result

EVERY = "zoo:*-*"
MOST_MODELS = 200
LISTED = 200  # fine-tunes that the hub is asked for
SHOWN = "shown_model"
COLUMNS = {"label": "Label", "task": "Task", "data": "Data", "base": "Base", "cluster": "Cluster"}
MEASURES = {"rank": "Rank", "stable_rank": "Stable rank", "entropy_rank": "Entropy rank", "relative_norm": "Norm"}
MODELS_HELP = (
    "`zoo:*-*` is every fine-tune in the box that started from the base; `path:/runs/*` every model in a folder. "
    "Type to search, or to enter a `hub:` model; see also *Fine-tunes on the hub*."
)
FORMULAS = {
    "Projectors: mean over matrices and sides of squared sines of principal angles between leading subspaces": (
        r"d(A, B)^2 = \frac{1}{2r} \lVert P_A - P_B \rVert_F^2 = \frac{1}{r} \sum_{i=1}^{r} \sin^2 \theta_i,"
        r"\qquad \cos \theta_i = \sigma_i\bigl(U_A^\top U_B\bigr)"
    ),
    "Chance level of sharing a label, for a model in a group of m among n; (m - 1) / (Gm - 1) for G equal groups": (
        r"\frac{m - 1}{n - 1}"
    ),
    "Rank at an energy threshold, stable rank, entropy rank": (
        r"\min \Bigl\{ k : \sum_{i \le k} \sigma_i^2 \ge \tau \sum_i \sigma_i^2 \Bigr\}, \qquad"
        r"\frac{\sum_i \sigma_i^2}{\sigma_1^2}, \qquad \exp\Bigl(-\sum_i p_i \log p_i\Bigr),"
        r"\; p_i = \frac{\sigma_i}{\sum_j \sigma_j}"
    ),
}
CAVEATS = """
**What would mislead you here**

- **The original vector depends on accidents.** A singular vector is known up to its sign, and up to a rotation where
  singular values are close; *Factors* averages such vectors over layers, so the same delta can give two vectors that
  share nothing. It is shown for comparison; the other four do not change with signs or rotations.
- **Chance is not one in G.** A model is not its own neighbour: with six tasks of three runs, two others of seventeen
  share the label, 12 %, not 17 %. The p-values are for one vector and one k; whoever tries five vectors and ten k
  finds a small one more easily.
- **The same task is not all that runs share.** Runs of one task also share learning rate, number of steps and batch
  order conventions. *Norms* and *Spectrum* see those first: a task that was trained longer has moved farther.
- **A rank says little without its null.** A full matrix of noise needs 391 of 768 directions for 90 % of its energy.
  Compare with the dashed line, not with the width of the matrix.
- **Maps are for the eye.** t-SNE and UMAP make islands out of anything and their gaps mean nothing. Clusters and
  neighbours are computed from the distances, never from the map.
- **Weights rounded to 16 bits** add a full-rank floor of about 0.0002 of the weights' norm to every delta (bfloat16:
  0.002). Where a delta is hardly larger, its rank is that of the rounding, and a notice says so.
- **Another base has other directions.** Models that started elsewhere are left out, or compared with their own base:
  then *Spectrum* and *Norms* can be read, *Projectors*, *Delta* and *Factors* cannot.
"""


def models_problem(text: str) -> str | None:
    """Why this names no fine-tunes; None if it may."""
    if PATTERN.search(text):
        kind = text.partition(":")[0]
        return None if kind in ("zoo", "path") else "A pattern works for zoo: and path: only."
    return controls.model_problem(text)


def fine_tunes_picker() -> tuple[str, ...] | None:
    """References and patterns; None if there is none or one cannot be used, which is said below the control."""
    tuned = [str(entry["ref"]) for entry in fine_tunes()]
    presets = [ref for ref in controls.model_options() if ref.startswith("hub:")]
    given = st.multiselect(
        "Fine-tunes", [EVERY, *tuned, *presets], default=[EVERY], key="models", bind="query-params",
        accept_new_options=True, max_selections=MOST_MODELS, wrap=True, help=MODELS_HELP,
    )  # fmt: skip
    problems = [f"{value}: {problem}" for value in map(str, given) if (problem := models_problem(value))]
    for problem in problems:
        st.error(plain(problem), icon=":material/error:")
    if not given:
        st.error("Choose at least one fine-tune.", icon=":material/error:")
    return tuple(str(value).strip() for value in given) if given and not problems else None


def label_table() -> tuple[tuple[str, str], ...]:
    """Labels from an uploaded table's column; empty where none was uploaded."""
    upload = st.file_uploader(
        "Your own labels: a CSV with a column `model`", type=["csv", "tsv"], max_upload_size=1, key="label_table"
    )
    if upload is None:
        return ()
    try:
        table = read_label_table(upload.getvalue())
    except PalimpsestError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return ()
    column = st.selectbox("Label column", list(table), key="label_column")
    return tuple(table[str(column)].items())


def hub_panel(base: str) -> None:
    """Fine-tunes of the base on the hub: listed, filtered, chosen, put into the form."""
    with st.expander("Fine-tunes on the hub", icon=":material/travel_explore:"):
        if not base.startswith("hub:"):
            st.caption("Choose a base from the hub, such as `hub:bert-base-uncased`, to list what was made of it.")
            return
        if st.button("List fine-tunes", icon=":material/list:"):
            try:
                with st.spinner("Asking the hub …"):
                    st.session_state["listed"] = (base, list_fine_tunes(parse_ref(base).name, LISTED))
            except PalimpsestError as error:
                st.error(plain(str(error)), icon=":material/error:")
        known, listed = st.session_state.get("listed", ("", []))
        if known == base:
            _choose(listed)


def map_view(result: Result) -> None:
    """The map, and below it the spectra of the model that was clicked and where to look at it next."""
    left, right = st.columns([3, 2])
    by = left.segmented_control(
        "Colour", list(COLUMNS), default="label", required=True, key="colour", bind="query-params",
        format_func=COLUMNS.__getitem__,
    )  # fmt: skip
    possible = [name for name in METHODS if name == "pca" or len(result.table) >= FEWEST[name]]
    drawing = right.segmented_control(
        "Map", possible, default="pca", required=True, key="map", bind="query-params", format_func=METHODS.__getitem__
    )
    points = _points(result, str(drawing))
    models = list(result.table["model"])
    if st.session_state.get(SHOWN) not in models:
        st.session_state[SHOWN] = models[0]

    def drawn(chosen: str = "") -> Any:
        return charts.map_chart(result, str(drawing), points, str(by), chosen)

    theme = "dark" if st.context.theme.type == "dark" else "light"
    st.vega_lite_chart(
        themed(drawn(st.session_state[SHOWN]).to_dict(), theme, paired_colours() if theme == "dark" else {}),
        key=CHART,
        on_select=_take_click,
        selection_mode=charts.CHOSEN,
        alt=result.headline,
    )
    show_downloads(result, drawn, lambda: charts.figures(result))
    _one_model(result, models)
    with st.expander("Table: models", icon=":material/table:"):
        show_table(result.table)


def neighbours_view(result: Result) -> None:
    """Shares against chance for every vector, and what the neighbours would call each model."""
    if result.tables["vectors"].empty:
        st.info("Neighbours need labels: three models or more, two labels or more.", icon=":material/info:")
        return
    show_charts([charts.neighbours_chart(result)], key="neighbours", alt_text=result.headline)
    show_downloads(result, lambda: charts.neighbours_chart(result), lambda: charts.figures(result), table="neighbours")
    vectors = result.tables["vectors"]
    used = int(result.arrays["k"])
    st.markdown(f"**Every vector, k = {used}**, with the clusters' agreement with the labels (ARI, NMI)")
    show_table(vectors[vectors["k"] == used].drop(columns="k"), digits=4)
    st.markdown("**Leave one out**: what a model's neighbours say it was fine-tuned on")
    show_table(result.tables["predictions"])


def distances_view(result: Result) -> None:
    """The sorted heatmap with its tree."""
    if len(result.table) < 2:
        st.info("Distances need two models or more.", icon=":material/info:")
        return
    show_charts([charts.distances_chart(result)], key="distances", alt_text="Distances between models, sorted by tree")
    show_downloads(result, lambda: charts.distances_chart(result), lambda: charts.figures(result), table="distances")
    with st.expander("Table: distances", icon=":material/table:"):
        show_table(result.tables["distances"])


@st.fragment
def depth_view(result: Result) -> None:
    """Ranks by layer, family by family; the slider reads them off spectra that are there already."""
    kinds = [kind for kind in ("delta", "weights") if rank_charts.families_of(result, kind)]
    left, middle, right = st.columns([4, 3, 2], vertical_alignment="bottom")
    measure = left.segmented_control(
        "Measure", list(MEASURES), default="rank", required=True, key="measure", format_func=MEASURES.__getitem__
    )
    percent = middle.slider(
        "Energy threshold, %", 50.0, 99.9, 100 * float(result.spec["threshold"]), 0.1, key="percent"
    )
    of = right.segmented_control("Of", kinds, default=kinds[0], required=True, key="of_shown")
    families = rank_charts.families_of(result, str(of))
    if measure == "relative_norm" and of == "weights":
        st.info("Norms are those of deltas, relative to the base.", icon=":material/info:")
        return
    drawn = [
        rank_charts.depth_chart(result, family, str(of), round(percent / 100, 6), str(measure), legend=not place)
        for place, family in enumerate(families)
    ]
    show_charts(drawn, key="depth", across=3, alt_text="Rank by layer for each family of matrices")
    show_downloads(result, lambda: drawn[0], lambda: charts.figures(result), table="ranks")
    with st.expander("Table: trends", icon=":material/table:"):
        show_table(result.tables["trends"].drop(columns="coefficients"))


CHART = "map_chart"


def _take_click() -> None:
    picked = st.session_state[CHART].selection.get(charts.CHOSEN) or []
    if picked:
        st.session_state[SHOWN] = str(picked[0]["model"])


def _points(result: Result, drawing: str) -> np.ndarray | None:
    if drawing == "pca" and result.spec["drawing"] == "pca":
        return None
    with st.spinner("Drawing the map …"):
        return draw(result.arrays[f"distances {result.spec['vector']}"], drawing, result.spec["seed"]).points


def _one_model(result: Result, models: Sequence[str]) -> None:
    names = dict(zip(models, charts.short_names(models), strict=True))
    left, right = st.columns([2, 3], vertical_alignment="bottom")
    model = str(left.selectbox("Spectra of", models, key=SHOWN, format_func=names.__getitem__))
    base = str(result.table.set_index("model").loc[model, "base"])
    with right.container(horizontal=True):
        for path, label, link in (
            ("pages/rsa.py", "Its layers: RSA", {"base": base, "compare": model}),
            ("pages/probe_trees.py", "Its trees: probes", {"models": [base, model]}),
        ):
            if any(entry.path == path for entry in shell.PAGES):
                st.page_link(path, label=label, icon=":material/arrow_forward:", query_params=link)
    kinds = [kind for kind in ("delta", "weights") if rank_charts.families_of(result, kind)]
    of = kinds[0]
    if len(kinds) > 1:
        of = str(st.segmented_control("Of", kinds, default=of, required=True, key="spectra_of"))
    families = rank_charts.families_of(result, of)
    show_charts(
        [
            rank_charts.spectrum_chart(result, model, family, of, legend=not place)
            for place, family in enumerate(families)
        ],
        key="spectra",
        across=3,
        alt_text=f"Singular values of {names[model]}, by family and layer",
    )


def _choose(listed: Sequence[Listed]) -> None:
    import pandas as pd

    if not listed:
        st.info("The hub lists no fine-tunes of this base.", icon=":material/info:")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input("Name or data set contains", key="hub_text")
        first = int(st.number_input("The first", 1, MOST_MODELS, 12, key="hub_first"))
        a_label = int(st.number_input("At most a data set", 1, 50, 4, key="hub_a_label"))
        licence = st.selectbox("Licence", ["", *sorted({model.licence for model in listed} - {""})], key="hub_licence")
        labelled = st.toggle("With a data set", True, key="hub_labelled")
    chosen = choose_listed(listed, first=first, text=text, licence=str(licence), labelled=labelled, a_label=a_label)
    refs = {model.ref for model in chosen}
    table = pd.DataFrame(
        [
            (
                model.ref in refs,
                model.ref,
                model.label,
                model.downloads,
                (model.bytes or 0) / 1e6 or None,
                model.licence,
            )
            for model in listed
        ],
        columns=["chosen", "model", "data", "downloads", "MB", "licence"],
    )
    st.dataframe(table.sort_values("chosen", ascending=False, kind="stable"), hide_index=True, height=320)
    st.caption("What is gated or has pickled weights only is listed and never chosen. Labels are those of the cards.")
    st.button(
        f"Compare these {len(chosen)}", icon=":material/add:", disabled=not chosen, on_click=_put, args=([*refs],)
    )


def _put(refs: list[str]) -> None:
    st.session_state["models"] = sorted(refs)
