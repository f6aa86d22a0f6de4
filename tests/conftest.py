"""What every test gets: a store of its own, no network, no progress bars, one thread."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from core.runs.process.cores import limit_threads

# before anything imports torch; numpy is here already, brought by a plugin, with a thread a core
limit_threads()
# what one process has compiled the many others read
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("HF_HUB_OFFLINE", "0")
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

LONGEST = (  # folders whose tests take several seconds, by what they take; those of one worker together
    # A worker has two of the first six at once: one of the three longest, then one behind it.
    "core", "core/commands", "docs", "core/results", "core/results/drawing", "golden", "browser",
    "core/models/loading", "core/vectors", "core/models/hub", "core/studies/alignment/barrier",
    "ui/study", "pages",
    "core/studies/rsa/layers", "core/studies/probes/trees", "core/studies/weights/clusters",
    "core/runs", "core/runs/process", "core/studies/probes/edges", "core/text", "zoo",
    "core/studies/weights/arithmetic", "", "core/studies/alignment/seeds", "core/models/files",
    "core/models/weights", "core/maths/spectra", "core/studies/probes/behaviour",
    "core/studies/rsa/swap", "core/studies/rsa/lens", "ui/server", "core/studies/rsa/tokens",
    "core/studies/rsa/divergence", "core/models", "load",
    "core/maths/structural", "core/maths/similarity", "core/maths/maps", "core/sweep",
    "core/studies/probes/minimal_pairs", "core/studies/rsa/audit", "ui/frame",
    "core/studies/weights/lineage", "extras/probes/polar", "core/maths", "extras/rsa/truth",
    "core/studies/probes/training", "core/studies/rsa/spaces",
    "core/studies/weights/clusters/charts", "ui/choosing",
)  # fmt: skip
TOGETHER = {  # folder -> one whose worker has it, too: they share all precomputed results, or models
    **dict.fromkeys(
        ("core/commands", "core/results", "core/results/drawing", "docs", "golden"), "core"
    ),
    "core/vectors": "core/models/loading",
}
BESIDE = (  # tests of the browser that a second worker has, with a server and a browser of its own
    "first_visit", "kept_report", "maps", "precomputed", "presenting", "seed_alignment", "shell",
    "start", "uploads", "walk", "weight_clustering",
)  # fmt: skip
WHOLE_STUDIES = (  # where tests run whole studies or commands, beside the studies' own test_study.py
    *(
        f"core/commands/test_{name}.py"
        for name in ("diff", "headlines", "main", "precomputed", "weights", "zoo")
    ),
    *(
        f"core/studies/weights/clusters/{name}.py"
        for name in ("test_box", "test_doses", "test_stumbling")
    ),
    *(
        "core/studies/weights/clusters/charts/test_figures.py",
        "core/studies/rsa/tokens/test_questions.py",
    ),
    *(
        "core/results/test_columns.py",
        "core/test_hostile_weights.py",
        "core/vectors/test_vocabulary.py",
    ),
)
SESSION = 3_600.0  # seconds; longer than any session


@pytest.fixture(autouse=True)
def private_store(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An empty store for each test, without precomputed results; nothing is read from or left in
    the user's own. One for all would let a test pass by what another stored; results of studies are
    shared by fixtures of modules instead."""
    # not mktemp, which lists the folders of all tests before each
    stores = tmp_path_factory.getbasetemp() / "stores"
    stores.mkdir(exist_ok=True)
    folder = Path(mkdtemp(dir=stores))
    monkeypatch.setenv("PALIMPSEST_STORE", str(folder))
    monkeypatch.setenv("PALIMPSEST_PRECOMPUTED", "none")
    for name in ("PALIMPSEST_MODE", "PALIMPSEST_SCHEDULER"):
        monkeypatch.setenv(name, "")  # so that what the test's code sets goes with the test, too
        monkeypatch.delenv(name)
    return folder


@pytest.fixture(autouse=True)
def tokenizers_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokenizers run in the test's process, where a test does not ask for their own: each start is
    a second or two."""
    if request.node.get_closest_marker("tokenizers_apart") is None:
        monkeypatch.setattr("core.models.loading.tokenizers.is_included", lambda ref, folder: True)


@pytest.fixture(scope="session", autouse=True)
def tried_once() -> Iterator[None]:
    """A configuration is tried in its process once a session, and that process, like the one that
    draws, does not end between two tests: each start imports for seconds."""
    from core.models import trial
    from core.models.files.layout import CONFIG
    from core.runs.process import drawing

    ask, tried = trial._trials.ask, dict[tuple[object, ...], Any]()

    def ask_once(request: dict[str, Any], *arguments: Any, **named: Any) -> Any:
        folder = Path(request["folder"])
        names = sorted(path.name for path in folder.iterdir())
        if CONFIG not in names or any(name.endswith(".gguf") for name in names):
            return ask(request, *arguments, **named)
        mode = trial.current_limits().shared
        key = (*names, (folder / CONFIG).read_bytes(), request["factory"], mode)
        if key not in tried:
            tried[key] = ask(request, *arguments, **named)  # what is refused is tried again
        return tried[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial._trials, "ask", ask_once)
        patch.setattr(trial, "REST", SESSION)
        patch.setattr(drawing, "REST", SESSION)
        yield


@pytest.fixture(autouse=True)
def own_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that a test runs becomes `__main__`, which processes that are started later would run
    again."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture
def precomputed_results(private_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The precomputed results lie under the test's store, as they do for a user."""
    monkeypatch.delenv("PALIMPSEST_PRECOMPUTED", raising=False)


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """A name for bytes that are no text: those of a gzip file hold the time, and workers must agree
    on names."""
    return f"{argname}{len(val)}" if isinstance(val, bytes) and not val.isascii() else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """The collector of garbage does not look through the tests themselves, which stay, nor what
    they import: a look takes a second, and Streamlit asks for one after each run of a page."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 10, 10)
        gc.enable()
        if "streamlit" in sys.modules:
            from streamlit import config

            config.set_option("runner.postScriptGC", False)
        if "streamlit.testing.v1" in sys.modules:
            wait_for_pages()


def wait_for_pages() -> None:
    """AppTest asks a thousand times a second whether its page is drawn; here it waits for that."""
    from streamlit.testing.v1 import local_script_runner

    look = local_script_runner.require_widgets_deltas

    def wait(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
        if runner._script_thread is not None:
            runner._script_thread.join(timeout)
        look(runner, timeout)

    local_script_runner.require_widgets_deltas = wait


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The folders that take longest come first, so that no worker is left with one of them at the
    end.

    Tests of whole studies are marked by the name of their file.
    """
    for item in items:
        if item.path.name == "test_study.py" or item.path.as_posix().endswith(WHOLE_STUDIES):
            item.add_marker(pytest.mark.study)
    order = {config.rootpath / "tests" / folder: place for place, folder in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.parent, len(order)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A folder's tests stay with one worker, in our order: they share models, studies, a server and
    a browser; so do those of folders that share more. Those of the browser, which take longest, are
    two parts; but of three workers, which are for two cores, one has them all, and only one browser
    at a time waits for a core.

    Marks would not do: `--dist loadgroup` writes them into a test's name, which pytest 9.2 no
    longer lets it change.
    """
    from xdist.scheduler import LoadFileScheduling

    class ByFolder(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            folder, _, name = str(super()._split_scope(nodeid)).rpartition("/")
            apart = folder.endswith("browser") and self.numnodes != 3
            beside = apart and name[len("test_") : -len(".py")] in BESIDE
            if beside:
                return f"{folder}, beside"
            top, _, inside = folder.partition("/")
            return f"{top}/{TOGETHER.get(inside, inside)}"

    config.option.loadscopereorder = False
    return ByFolder(config, log) if config.getoption("dist") == "loadfile" else None
