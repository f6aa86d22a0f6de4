"""What a downloaded file is called, and the command that the report gives."""

from __future__ import annotations

import pandas as pd

from core.results.export import Result
from core.rsa.layers.spec import RsaSpec
from ui.study.downloads import command_of, slug


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
