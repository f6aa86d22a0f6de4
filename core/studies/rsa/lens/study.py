"""What does it say now? What a fine-tune has come to say, read from its states and its output.

References: nostalgebraist 2020 (logit lens); Belrose et al. 2023 (tuned lens); Minder et al. 2025
(words of the mean difference of states). Deviations: see `core.studies.rsa.lens.lenses`.

The headline's number: `core.studies.rsa.lens.tasks.promotion`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from core.models.zoo import included_entries
from core.studies.kit import (
    Findings,
    Outputs,
    Result,
    Study,
    Task,
    Text,
    View,
    contents,
    identity_tasks,
    sentence_notices,
    text_task,
    words_beside,
)
from core.studies.notices import base_left_out, nothing_but_base
from core.studies.rsa.lens.charts import LAYERS, OUTPUT, PARTS, SENTENCE, WORDS, draw_lens
from core.studies.rsa.lens.spec import LensSpec
from core.studies.rsa.lens.tables import RIVAL, TUNE, change_tables, layer_tables
from core.studies.rsa.lens.tasks import read_change, read_layers
from core.studies.rsa.lens.text import (
    beats_rivals,
    compared_models,
    make_headline,
    make_methods,
    make_notices,
    output_sentence,
    statements_of,
    states_sentence,
)
from core.text.labelled import read_labelled

CITATIONS = ("nostalgebraist2020", "belrose2023lens", "minder2025")
MOST_TYPED = 16  # words of the typed sentence
CHANGE, SEEN = "change", "layers"  # roles of tasks
SHOWN = {
    WORDS: ("promoted_words",),
    OUTPUT: ("favoured", "output_change"),
    LAYERS: ("promoted", "through_head", "decided"),
    SENTENCE: ("said",),
}  # tables below each part


def prepare(spec: LensSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Read both texts, identify the models. Raises SpecError if every fine-tune is its own base."""
    parts = parts_of(spec)
    if TUNE not in parts.values():
        raise nothing_but_base(spec.base)
    bases = (base_for(ref, spec.base) for ref in parts)
    return [
        text_task(spec.corpus, spec.genres, spec.sentences, texts),
        Task.of(
            "text of the fine-tunes", read_labelled, role="typical", fleeting=True,
            path=spec.labelled,
        ),
        *identity_tasks(tuple(dict.fromkeys((*parts, *bases)))),
    ]  # fmt: skip


def parts_of(spec: LensSpec) -> dict[str, str]:
    """List the models whose change is read, without those that are their own base: fine-tunes and
    rivals."""
    parts = dict.fromkeys(spec.models, TUNE)
    parts |= {ref: RIVAL for ref in spec.others if ref not in parts}
    return {ref: part for ref, part in parts.items() if ref != base_for(ref, spec.base)}


def base_for(ref: str, base: str) -> str:
    """Name the model that another is compared with: an included fine-tune's own base."""
    return str(included_entries().get(ref, {}).get("base") or base)


def plan(spec: LensSpec, ready: Outputs) -> list[Task]:
    """Make a task for the change of every model, and one for the layers of every fine-tune and
    base; roles are (what, model). Raises CorpusError if a text could not be read."""
    content, words = contents(ready), ready.need("text").words
    typical = tuple(tuple(text.split()) for text, _ in ready.need("typical"))
    typed = tuple(spec.sentence.split())[:MOST_TYPED]
    tasks, layered = [], {}
    for ref, part in parts_of(spec).items():
        base = base_for(ref, spec.base)
        if ref not in content or base not in content:
            continue
        pair: dict[str, Any] = {
            **{"model": ref, "base": base, "sentences": words},
            **{"model_identity": content[ref], "base_identity": content[base]},
        }
        tasks.append(
            Task.of(
                f"change of {ref}", read_change, role=(CHANGE, ref), group=base, **pair,
                typical=typical, seed=spec.seed,
            )
        )  # fmt: skip
        if part == TUNE:
            layered[ref] = pair
            layered.setdefault(base, {**pair, "model": base, "model_identity": content[base]})
    return tasks + [
        Task.of(f"layers of {ref}", read_layers, role=(SEEN, ref), group=ref, **pair, typed=typed)
        for ref, pair in layered.items()
    ]


def collect(spec: LensSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables of `change_tables` and `layer_tables`, and what is said of them."""
    corpus, typical = ready.need("text"), ready.need("typical")
    changes, seen = outputs.of(CHANGE), outputs.of(SEEN)
    parts = parts_of(spec)
    bases = {ref: base_for(ref, spec.base) for ref in parts}
    tables = {
        **change_tables(changes, bases, parts),
        **layer_tables(seen),
    }
    statements = statements_of(tables)
    same = [ref for ref in (*spec.models, *spec.others) if ref not in parts]
    return Findings(
        tables,
        make_headline(statements, tables),
        statements=statements,
        notices=[
            *sentence_notices(len(corpus.sentences)),
            *(base_left_out(ref) for ref in same),
            *make_notices(changes),
        ],
        methods=make_methods(spec, len(corpus.sentences), len(typical)),
        models=tuple(dict.fromkeys(ref for pair in bases.items() for ref in pair)),
        corpus=corpus,
    )


def shown_parts(result: Result) -> list[tuple[str, ...]]:
    """List the choices whose figures files hold: all parts, the comparison with rivals first where
    no fine-tune promotes words of its text more than they do."""
    first = [] if beats_rivals(result.statements) else [LAYERS]
    return [(part,) for part in dict.fromkeys((*first, *PARTS))]


def first_lines(result: Result, part: str = OUTPUT) -> Result:
    """Leave of the lines by layer the fine-tune of the headline and the best rival."""
    if part != LAYERS:
        return result
    promoted, named = result.tables["promoted"], compared_models(result.statements)
    return result.with_tables(promoted=promoted[promoted["model"].isin(named)]) if named else result


def part_sentence(result: Result, part: str = OUTPUT) -> str:
    """Say what a part's figures show; "" for the study's headline."""
    sentences = {OUTPUT: output_sentence, WORDS: states_sentence, LAYERS: states_sentence}
    return sentences[part](result.statements, result.tables) if part in sentences else ""


def tables_of(result: Result, part: str = OUTPUT) -> dict[str, pd.DataFrame]:
    """Choose the tables below a part's figures."""
    return {name: result.tables[name] for name in SHOWN[part]}


STUDY = Study(
    name="lens",
    words=words_beside(__file__),
    Spec=LensSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(
        View(
            draw=draw_lens,
            choices=shown_parts,
            headline=part_sentence,
            tables=tables_of,
            first=first_lines,
            asked="Figure",
            titles=PARTS,
        ),
    ),
)
