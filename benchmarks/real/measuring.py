"""One case in a process of its own: what it gives, processor seconds, peak memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.prices import used
from benchmarks.real.cases import DIFF, Case
from core.errors import PalimpsestError

SENTENCE_END = re.compile(r"(?<=[^.]\.) (?=[A-Z])")
LIMIT = 7_200  # seconds of a case
Row = dict[str, Any]


def measure(case: Case, folders: Mapping[str, Path]) -> Row:
    """Run a case in this process, from an empty store.

    Returns:
        `ran`, `outcome` in a sentence or two, `facts`, and `cpu` and `hwm` as `prices.used`.
    """
    names = {f"path:{folder}": name for name, folder in folders.items()}
    facts: dict[str, float] = {}
    try:
        ran, outcome = True, ""
        if case.study == DIFF:
            outcome = _diff(**case.values)
        else:
            result = _run(case)
            ran = not result.failures
            outcome = " ".join([said(result), *list(result.failures.values())[:1]])
            facts = case.facts(result, names) if ran else {}
    except PalimpsestError as error:
        ran, outcome = False, str(error)
    return {"ran": ran, "outcome": plain(outcome, folders), "facts": facts, **used()}


def said(result: Any) -> str:
    """Return a result's caution and the first sentence of its headline."""
    return str(result.cautioned(SENTENCE_END.split(result.headline)[0]))


def plain(text: str, folders: Mapping[str, Path]) -> str:
    """Write models by their names, not by their folders."""
    for folder in {folder.parent for folder in folders.values()}:
        text = text.replace(f"path:{folder}/", "").replace(f"{folder}/", "")
    return text


def _run(case: Case) -> Any:
    from core.catalogue import STUDIES
    from core.runs.store import default_store

    study = STUDIES[case.study]
    return study.run(study.Spec(**case.values), store=default_store().without_precomputed())


def _diff(base: str, model: str) -> str:
    """Run every study that fits a pair, and say which ones ran."""
    from core.commands.pair import check_pair, run_pair
    from core.runs.store import default_store

    store = default_store().without_precomputed()
    check = check_pair(base, model, store=store)
    parts = run_pair(check, store=store)
    ran = ", ".join(part.name for part in parts if part.result is not None) or "nothing"
    refused = "".join(
        f" {part.name} was not run: {part.reason}" for part in parts if part.result is None
    )
    return f"{check.sentence} It ran {ran}.{refused}"


def measured(case: Case, kept: Path, command: Sequence[str]) -> Row:
    """Give the row of a case: the one that is kept, or that of a fresh process.

    Args:
        kept: File of finished rows, one JSON object a line.
        command: That measures the case and prints its row last.

    Raises:
        PalimpsestError: If the process ended without a row; what it said is in the message.
    """
    key = json.dumps([case.study, case.models, case.text, case.values])
    for line in kept.read_text(encoding="utf8").splitlines() if kept.exists() else ():
        row: Row = json.loads(line)
        if row["key"] == key:
            return row
    with tempfile.TemporaryDirectory(prefix="palimpsest-real-") as store:
        environment = {"OMP_NUM_THREADS": "1", **os.environ, "PALIMPSEST_STORE": store}
        try:
            run = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=True,
            )
        except subprocess.TimeoutExpired:
            raise PalimpsestError(
                f"{case.name} takes longer than {LIMIT / 3600:g} hours: make it smaller."
            ) from None
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip().splitlines() or [f"status {error.returncode}"])[-1]
            raise PalimpsestError(f"{case.name} broke off: {last}") from error
    row = {"key": key, **json.loads(run.stdout.splitlines()[-1])}
    with kept.open("a", encoding="utf8") as file:
        file.write(json.dumps(row) + "\n")
    return row


def command_of(case: Case, arguments: Sequence[str]) -> list[str]:
    """Make the command that measures a case in a fresh process.

    Args:
        arguments: Of `make real` that decide what the cases are.
    """
    return [sys.executable, "-m", "benchmarks.real", "--measure", case.name, *arguments]
