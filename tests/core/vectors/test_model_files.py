"""What models' files hold is said beside the result of every study that reads them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from core.catalogue import STUDIES
from core.errors import PalimpsestError
from core.results.export import Result
from core.runs.store import Store, using
from core.vectors.model_files import with_model_files
from tests.core import quantised
from tests.core.hub_server import HubServer
from tests.core.small_zoo import CONFIG, LAYERS, base_tensors, tuned_tensors, write_model
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


@pytest.mark.slow
def test_plain_models_have_no_such_notice(tmp_path: Path, models: Models) -> None:
    study = STUDIES["rsa"]
    with using(Store(tmp_path)):
        result = study.run(study.Spec(base=models.base, compare=(f"random:{models.base}",), **RSA))
    assert not any("quantised" in notice for notice in result.notices)


SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
INDEX = "model.safetensors.index.json"


def leave_shards(folder: Path, tensors: dict[str, np.ndarray]) -> None:
    """Leave the shards and the index of another model in a folder."""
    save_file(tensors, folder / SHARDS[0])
    (folder / INDEX).write_text(json.dumps({"weight_map": dict.fromkeys(tensors, SHARDS[0])}))


def unread(result: Result) -> list[str]:
    return [notice for notice in result.notices if "not read" in notice]


@pytest.mark.slow
def test_every_study_reads_the_same_weights_and_names_the_others(tmp_path: Path) -> None:
    first, second = (save_tiny(tmp_path / name, seed=seed) for seed, name in enumerate("ab"))
    stale = load_file(first / "model.safetensors")
    leave_shards(second, stale)
    base, other = f"path:{first}", f"path:{second}"
    similarity, weights = STUDIES["rsa"], STUDIES["audit"]
    with using(Store(tmp_path / "store")):
        result = similarity.run(similarity.Spec(base=base, compare=(other,), **RSA))
        audit = weights.run(weights.Spec(models=(other,), end=base))
    assert result.table["similarity"].min() < 0.99  # not those of the shards
    assert set(audit.table["verdict"]) <= {"not of this run", "fine"}
    for made in (result, audit):
        (notice,) = unread(made)
        assert all(name in notice for name in (other, SHARDS[0], INDEX, "model.safetensors"))


def test_a_stray_file_beside_pickled_weights_is_not_read(tmp_path: Path) -> None:
    base = write_model(tmp_path / "base", base_tensors())
    tuned = write_model(tmp_path / "runs/tuned", tuned_tensors(base_tensors(), 0, 0))
    as_tensors = {
        name: torch.from_numpy(x) for name, x in tuned_tensors(base_tensors(), 0, 0).items()
    }
    torch.save(as_tensors, tuned / "pytorch_model.bin")
    (tuned / "model.safetensors").unlink()
    save_file(base_tensors(), tuned / "stray.safetensors")
    study = STUDIES["weights"]
    with using(Store(tmp_path / "store")):
        result = study.run(study.Spec(base=f"path:{base}", models=(f"path:{tmp_path}/runs/*",)))
    assert result.failures == {}
    assert result.table["relative_delta"].min() > 0.01
    (notice,) = unread(result)
    assert all(
        name in notice for name in (f"path:{tuned}", "stray.safetensors", "pytorch_model.bin")
    )


@pytest.mark.parametrize(
    ("study", "fields"),
    [
        ("weights", lambda whole, short: {"base": whole, "models": (short,)}),
        ("weights intruders", lambda whole, short: {"base": whole, "models": (short,)}),
        ("weights lineage", lambda whole, short: {"models": (whole, f"{whole}-too", short)}),
        ("audit", lambda whole, short: {"models": (f"{whole}-too", short), "end": whole}),
    ],
)
def test_a_model_with_fewer_layers_than_it_says_is_refused(
    tmp_path: Path, study: str, fields: Callable[[str, str], dict[str, Any]]
) -> None:
    write_model(tmp_path / "base", base_tensors())
    write_model(tmp_path / "base-too", tuned_tensors(base_tensors(), 1, 0))
    tensors = tuned_tensors(base_tensors(), 0, 0)
    for name in list(tensors):
        if any(f".layer.{layer}." in name for layer in range(1, LAYERS)):
            del tensors[name]
    write_model(tmp_path / "short", tensors)
    reason = f"holds 1 layer, and the configuration says {LAYERS}"
    asked = STUDIES[study]
    with using(Store(tmp_path / "store")):
        try:
            result = asked.run(
                asked.Spec(**fields(f"path:{tmp_path}/base", f"path:{tmp_path}/short"))
            )
        except PalimpsestError as error:
            said = str(error)
        else:
            said = " ".join([*result.failures.values(), *result.notices])
    assert reason in said


def test_files_on_the_hub_that_were_not_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned = write_model(tmp_path / "tuned", tuned_tensors(base_tensors(), 0, 0))
    files = {path.name: path.read_bytes() for path in tuned.iterdir()}
    stray = {
        "stray.safetensors": b"0",
        "pytorch_model.bin": b"0",
        "1_Dense/model.safetensors": b"0",
    }
    study = STUDIES["weights"]
    with HubServer() as hub, using(Store(tmp_path / "store")):
        hub.replace_hub(monkeypatch, tmp_path / "cache")
        hub.add("org/base", write_model(tmp_path / "base", base_tensors(), CONFIG))
        hub.add("org/tuned", files | stray)
        result = study.run(study.Spec(base="hub:org/base", models=("hub:org/tuned",)))
    assert result.failures == {}
    (notice,) = unread(result)
    assert "hub:org/tuned" in notice
    assert "stray.safetensors" in notice
    assert "pytorch_model" not in notice


def test_models_that_are_not_here_say_nothing(tmp_path: Path) -> None:
    study = STUDIES["weights"]
    gone = study.Spec(base=f"path:{tmp_path}/gone", models=("hub:never/asked",))
    result = Result("weights", {}, "", {})
    assert with_model_files(result, gone) is result
