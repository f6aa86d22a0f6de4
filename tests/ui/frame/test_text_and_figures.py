"""Text from outside stays text; charts take the theme's colours; the box as a table; sizes for
people."""

from __future__ import annotations

import gc
import sys
import tomllib

import pytest

from core.limits import MEGABYTE, SHARED
from core.results.drawing.style import COLOURS, GREY, TASK_COLOURS
from core.studies.probes.sentence.parts import LABELLED_COLOURS, STATUS_COLOURS
from tests import ROOT
from ui.frame.process import freeze_heavy_imports
from ui.frame.shell import in_bytes
from ui.frame.text import plain, plain_label, quote
from ui.home.included import included_table
from ui.study.figures import DARKER, themed

CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf8"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[click](http://evil.example)", r"\[click\]\(http\://evil\.example\)"),
        ("![x](y)", r"\!\[x\]\(y\)"),
        ("$x$ **b** _i_ # h", r"\$x\$ \*\*b\*\* \_i\_ \# h"),
        (":material/error: :red[x]", r"\:material/error\: \:red\[x\]"),
        ("run `git checkout -- zoo` now", "run `git checkout -- zoo` now"),
        ("a ` alone", r"a \` alone"),
        ("RSA .35 [.33, .38]", r"RSA \.35 \[\.33, \.38\]"),
    ],
)
def test_plain_text_does_nothing_but_show(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize(
    "name",
    ["parse-0", "google/multiberts-seed_0", "a__b", "pythia-70m@step1000", "é 1.5"],
)
def test_a_label_without_markup_is_read_as_it_is_written(name: str) -> None:
    assert plain_label(name) == name


@pytest.mark.parametrize(
    "name", ["parse-*", "v (x)", "_x_", "a/_x_", "a _x_ b", "x_", "$x$", ":red[x]", "`x"]
)
def test_a_label_with_markup_is_escaped(name: str) -> None:
    assert plain_label(name) == plain(name) != name


def test_a_foreign_value_is_quoted_and_cut() -> None:
    assert quote("zoo:`x`\n") == "`zoo: x  `"
    assert len(quote("x" * 5000)) < 220
    assert quote("\n \t") == "nothing"


def test_a_dark_page_swaps_the_colours_but_never_the_data() -> None:
    spec = {
        "data": {"name": "d"},
        "datasets": {"d": [{"colour": "#0072b2"}]},
        "layer": [
            {"mark": {"type": "line", "color": "#0072B2"}},
            {"mark": {"type": "line", "color": "#123456"}},
        ],
        "config": {"view": {"stroke": None}},
    }
    dark = themed(spec, "dark", {"#0072b2": "#56b4e9"})
    assert dark["layer"][0]["mark"]["color"] == "#56b4e9"
    assert dark["layer"][1]["mark"]["color"] == "#123456"
    assert dark["datasets"] == spec["datasets"]
    assert dark["config"]["view"] == {"stroke": None}
    assert dark["autosize"]["type"] == "fit-x"
    assert (
        dark["config"]["axisY"]["labelFlush"] is False
    )  # streamlit's own moves the first row's name onto the second
    assert themed(spec, "light", {})["layer"] == spec["layer"]


def test_light_and_dark_have_as_many_chart_colours_all_different() -> None:
    light, dark = (CONFIG["theme"][name]["chartCategoricalColors"] for name in ("light", "dark"))
    assert len(light) == len(dark) == len(set(light)) == len(set(dark))
    for name in ("light", "dark"):
        assert len(CONFIG["theme"][name]["chartSequentialColors"]) == 10
        assert len(CONFIG["theme"][name]["chartDivergingColors"]) == 10


@pytest.mark.parametrize("name", ["light", "dark"])
def test_letters_and_chart_colours_stand_out_from_the_page(name: str) -> None:
    """WCAG: 4.5 to 1 for text, 3 to 1 for graphics that carry meaning; two Okabe-Ito hues are
    lighter by design."""
    theme = CONFIG["theme"][name]
    page = theme["backgroundColor"]
    assert _contrast(theme["textColor"], page) > 7
    assert _contrast(theme["linkColor"], page) > 4.5
    assert _contrast("#ffffff", theme["primaryColor"]) > 3
    for colour in theme["chartCategoricalColors"][:3]:
        assert _contrast(colour, page) > 3
    for background in (
        page,
        theme["secondaryBackgroundColor"],
    ):  # "Change" beside what a form holds
        assert _contrast(theme["blueColor"], background) >= 4.5


def test_colours_of_lines_stand_out_on_a_dark_page() -> None:
    """Dotted lines are thin: 4.5 to 1, as letters."""
    page = CONFIG["theme"]["dark"]["backgroundColor"]
    pairs = dict(
        zip(
            *(CONFIG["theme"][name]["chartCategoricalColors"] for name in ("light", "dark")),
            strict=True,
        )
    )
    dark = DARKER | pairs
    for colour in (
        *STATUS_COLOURS.values(),
        *LABELLED_COLOURS.values(),
        *TASK_COLOURS.values(),
        *COLOURS,
        GREY,
    ):
        assert _contrast(dark.get(colour.lower(), colour), page) >= 4.5, colour


def test_nothing_is_fetched_from_elsewhere_and_strangers_are_kept_out() -> None:
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert "address" not in CONFIG["server"]  # a host chooses its own
    assert CONFIG["server"]["enableXsrfProtection"]
    assert CONFIG["server"]["enableCORS"]
    assert CONFIG["server"]["maxUploadSize"] * MEGABYTE <= SHARED.max_upload_bytes
    assert "http" not in CONFIG["theme"]["font"] + CONFIG["theme"]["headingFont"]


def test_the_table_of_included_models_takes_whatever_the_manifest_lacks() -> None:
    loss = {"task": "masked-lm", "score": 4.1, "baseline": 5.4, "metric": "held_out_loss"}
    accuracy = {"task": "nli", "base": "zoo:seed-0", "metric": "accuracy"}
    table = included_table(
        [
            {"ref": "zoo:seed-0", **loss},
            {"ref": "zoo:seed-0@step-200", **loss, "score": 6.2},
            {"ref": "zoo:nli-0", **accuracy, "score": 0.62},
            {"ref": "zoo:nli-1", **accuracy, "score": 0.67},
            {"ref": "zoo:new-0", "task": "question-answering"},
            {"ref": "zoo:bare"},
            {**loss, "ref": "zoo:decoder-0", "task": "causal-lm"},
            {"ref": "zoo:qa-0", "task": "qa", "metric": "F1", "score": 0.6, "baseline": 0.3},
        ]
    )
    assert table["models"].tolist() == [
        *("zoo:seed-0", "zoo:seed-0@step-200", "zoo:nli-0, nli-1", "zoo:new-0", "zoo:bare"),
        *("zoo:decoder-0", "zoo:qa-0"),
    ]
    assert table["score"].tolist() == [
        *(
            "held-out loss 4.10 nats (baseline 5.40)",
            "held-out loss 6.20 nats (baseline 5.40)",
            "accuracy .62 to .67",
            "",
            "",
            "held-out loss 4.10 nats (baseline 5.40)",
            "F1 .60 (baseline .30)",
        ),
    ]
    assert table["trained for"].tolist() == [
        *("Masked language model", "Masked language model, intermediate checkpoint"),
        *("Natural language inference", "Question answering", ""),
        *("Causal language model (decoder)", "Question answering"),
    ]
    assert table["started from"].tolist() == [
        *("random weights", "random weights", "seed-0", "random weights", "random weights"),
        *("random weights", "random weights"),
    ]
    assert len(included_table([])) == 0


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (812_345, "812 kB"), (33_600_000, "34 MB"), (1_240_000_000, "1.2 GB")],
)
def test_sizes_for_people(count: int, shown: str) -> None:
    assert in_bytes(count) == shown


@pytest.mark.slow
def test_what_heavy_imports_leave_is_frozen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.frame.process._frozen", set())
    monkeypatch.setitem(sys.modules, "spacy", sys)
    frozen = gc.get_freeze_count()
    try:
        assert freeze_heavy_imports()
        assert gc.get_freeze_count() > frozen
        assert not freeze_heavy_imports()
    finally:
        gc.unfreeze()


def _contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio of two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)
