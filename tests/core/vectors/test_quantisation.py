"""Quantised models are said beside the result of every study that reads them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.catalogue import STUDIES
from core.runs.store import Store, using
from tests.core import quantised
from tests.core.tiny_models import save_tiny

RSA = {"sentences": 20, "words": 40, "references": False}


@dataclass(frozen=True)
class Models:
    """References of a tiny Llama, and of copies in NF4 and as GGUF."""

    base: str
    four_bits: str
    gguf: str


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    folder = tmp_path_factory.mktemp("models")
    base = save_tiny(folder / "base", "llama")
    quantised.quantise(base, folder / "nf4", "nf4")
    quantised.gguf_llama(base, folder / "gguf")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(base / name, folder / "gguf" / name)
    return Models(f"path:{base}", f"path:{folder / 'nf4'}", f"path:{folder / 'gguf'}")


@pytest.mark.slow
def test_similarity_says_what_is_quantised(tmp_path: Path, models: Models) -> None:
    study = STUDIES["rsa"]
    with using(Store(tmp_path)):
        spec = study.Spec(base=models.base, compare=(models.four_bits, models.gguf), **RSA)
        result = study.run(spec)
    assert result.failures == {}
    said = [notice for notice in result.notices if "quantised" in notice]
    assert len(said) == 2
    assert any(models.four_bits in notice and "(NF4)" in notice for notice in said)
    assert any(models.gguf in notice and "(Q8_0)" in notice for notice in said)
    table = result.table.groupby("model", sort=False)["similarity"].min()
    assert table.iloc[1] > table.iloc[0] > 0.5  # 8 bits are nearer than 4


def test_weights_say_so_and_measure_the_rounding(tmp_path: Path, models: Models) -> None:
    study = STUDIES["weights"]
    with using(Store(tmp_path)):
        spec = study.Spec(base=models.base, models=(models.four_bits, models.gguf))
        result = study.run(spec)
    assert result.failures == {}
    assert sum("are quantised (" in notice for notice in result.notices) == 2
    deltas = result.table.set_index("model")["relative_delta"]
    assert 0.05 < deltas.iloc[0] < 0.13  # of NF4
    assert deltas.iloc[1] < 0.01  # of Q8_0


def test_plain_models_have_no_such_notice(tmp_path: Path, models: Models) -> None:
    study = STUDIES["rsa"]
    with using(Store(tmp_path)):
        result = study.run(study.Spec(base=models.base, compare=(models.base,), **RSA))
    assert not any("quantised" in notice for notice in result.notices)
