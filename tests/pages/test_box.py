"""Pages of a fresh install: figures from the answers in the box, examples on the first page,
studies remembered."""

from __future__ import annotations

import pytest

from core.commands.examples.every import EXAMPLES
from core.runs.precomputed import default_precomputed
from core.studies.alignment.seeds.study import STUDY as SEEDS
from core.studies.probes.trees.study import STUDY as TREES
from core.studies.rsa.layers.study import STUDY as LAYERS
from core.studies.rsa.tokens.study import STUDY as TOKENS
from core.studies.weights.clusters.study import STUDY as CLUSTERS
from tests.cases import exhaustive
from tests.pages.conftest import open_page, sentences
from ui.study.experiment import views_of
from ui.study.experiments import START
from ui.study.run_panel import PRECOMPUTED
from ui.views import (
    alignment_experiments,
    probe_experiments,
    rsa_experiments,
    weights_experiments,
)

STUDIES_OF = {
    "rsa": ((LAYERS, TOKENS), rsa_experiments),
    "probe_trees": ((TREES,), probe_experiments),
    "weight_clustering": ((CLUSTERS,), weights_experiments),
    "seed_alignment": ((SEEDS,), alignment_experiments),
}
RANK = ("probe_trees", "Rank")  # starts when asked: its probes of all ranks take a megabyte
VIEWS = [
    (page, view)
    for page, (studies, module) in STUDIES_OF.items()
    for view in views_of(*studies, experiments=module.EXPERIMENTS)
    if (page, view) != RANK
]
FIRST = [next(each for each in VIEWS if each[0] == page) for page in dict(VIEWS)]


@pytest.fixture(autouse=True)
def answered(precomputed_results: None) -> None:
    found = default_precomputed()
    if found is None or not found.keys():
        pytest.skip("the box has no answers yet: make precomputed")


@pytest.mark.parametrize(("page", "view"), exhaustive(VIEWS, *FIRST))
def test_a_view_opens_from_the_box(page: str, view: str) -> None:
    """Nothing has to be started or computed for what a page offers at its defaults."""
    app = open_page(f"pages/{page}.py", view=view)
    assert not app.exception
    assert PRECOMPUTED in sentences(app)
    assert START not in sentences(app)
    assert app.get("vega_lite_chart")


@pytest.mark.parametrize(
    "example", exhaustive(EXAMPLES, EXAMPLES[0]), ids=lambda example: example.name
)
def test_an_example_opens_from_the_box(example) -> None:
    app = open_page(example.page, **example.query())
    assert not app.exception
    assert PRECOMPUTED in sentences(app)
    assert "The link asks for" not in sentences(app)


def test_home_has_a_card_for_each_example_with_figure_and_finding() -> None:
    app = open_page("pages/home.py")
    assert not app.exception
    assert len(app.get("vega_lite_chart")) == len(EXAMPLES)
    assert {example.title for example in EXAMPLES} <= {
        link.proto.label.strip("*").replace("\\", "") for link in app.get("page_link")
    }


def test_studies_are_remembered_by_the_session_and_on_ones_own_computer_by_all(monkeypatch) -> None:
    app = open_page("pages/weight_clustering.py", view="Neighbours")
    assert "Recent studies" in sentences(app)
    other = open_page("pages/home.py")
    assert "Recent studies" in sentences(other)
    links = [link.proto for link in other.get("page_link")]
    assert any(
        link.label == "Weight clustering, Neighbours" and "Neighbours" in link.query_string
        for link in links
    )


def test_on_a_shared_instance_nobody_sees_the_studies_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    assert "Recent studies" in sentences(open_page("pages/weight_clustering.py"))
    assert "Recent studies" not in sentences(open_page("pages/home.py"))
