"""What a downloaded file is called, and the command that the report gives."""

from __future__ import annotations

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from core.results.drawing.printing import SUFFIXES
from core.results.export import Result
from core.studies.rsa.layers.spec import RsaSpec
from ui.archive.making import command_of, report_of
from ui.study.downloads import slug


def test_a_files_name_tells_what_it_shows() -> None:
    assert slug("By layer rsa") == "by-layer-rsa"
    assert slug(("delta", 0.9, "rank")) == "delta-0.9-rank"
    assert slug(None) == ""


def test_the_command_computes_the_same_study() -> None:
    spec = RsaSpec(genres=("legal",), seed=3)
    result = Result("rsa", spec.plain(), "", {"main": pd.DataFrame()})
    assert command_of(result) == "python -m core rsa --genres legal --seed 3 --out out"
    assert command_of(Result("nothing", {}, "", {})) == ""
    assert command_of(Result("rsa", {"gone": 1}, "", {})) == ""


def test_a_report_has_the_caveats_of_its_study_and_one_of_no_study_is_written_too() -> None:
    for study, expected in (("align check", True), ("nothing", False)):
        result = Result(study, {}, "It was found.", {"main": pd.DataFrame({"layer": [0]})})
        page = report_of(result, {}, "", say=lambda *told: None).decode("utf8")
        assert "It was found." in page
        assert ("Training error says little." in page) == expected


def figure_page() -> None:
    import pandas as pd

    from core.results.drawing.vega import Chart
    from core.results.export import Result
    from ui.study.downloads import figure_dialog

    rows = pd.DataFrame({"layer": [0, 1], "similarity": [1.0, 0.5]})
    chart = Chart(rows).mark_line().encode(x="layer:Q", y="similarity:Q")
    result = Result("rsa", {}, "", {"main": rows}, methods="We did it.")
    figure_dialog(result, lambda *, context: chart, None, "palimpsest-rsa")


@pytest.mark.slow
def test_a_figure_for_a_paper_is_offered_in_the_formats_that_are_made() -> None:
    app = AppTest.from_function(figure_page, default_timeout=30).run()
    assert not app.exception
    labels = [button.proto.label for button in app.get("download_button")]
    assert labels == [suffix.upper() for suffix in SUFFIXES]
