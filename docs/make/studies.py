"""One page for each study of the catalogue, and the gallery of their figures.

A page takes every sentence from the `Study` itself, as the app's *Method and caveats* does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.catalogue import STUDIES
from core.commands.study import command_line
from core.options import Option, Spec, options_of
from core.results.columns import describe, title_of, title_of_table
from core.results.export import Result
from core.results.papers.reference import Reference
from core.study import Study
from docs.make.code import code_lines
from docs.make.figures import Figure, figures_of, precomputed
from docs.make.formulas import mathml

FOLDER = "studies"
ROOMS = {
    "rsa": "RSA",
    "probes": "Probe trees",
    "weights": "Weight clustering",
    "alignment": "Seed alignment",
}
ESCAPED = str.maketrans({letter: f"\\{letter}" for letter in r"\`*_[]<>|"})


def plain(text: str) -> str:
    """Escape what Markdown would read as emphasis, links or HTML."""
    return text.translate(ESCAPED)


def cell(text: str) -> str:
    """Bring a text with Markdown's emphasis into one cell of a table."""
    return text.replace("|", r"\|").replace("\n", " ")


def page_of(name: str) -> str:
    """Name the page of a study, such as "studies/align-check.md"."""
    return f"{FOLDER}/{name.replace(' ', '-')}.md"


def image_of(name: str, figure: Figure) -> str:
    """Name the file of a figure of a study."""
    return f"{FOLDER}/figures/{name.replace(' ', '-')}-{figure.name}.svg"


def room_of(name: str) -> str:
    """Name the page of the app that a study is on; another package's is on that of the study whose
    name its own begins with."""
    folders = STUDIES[name].Spec.__module__.split(".")
    return ROOMS.get(folders[-3]) or room_of(name.split()[0])


def by_room() -> dict[str, list[str]]:
    """List the studies by the page of the app that they are on, in the catalogue's order."""
    rooms: dict[str, list[str]] = {title: [] for title in ROOMS.values()}
    for name in STUDIES:
        rooms[room_of(name)].append(name)
    return rooms


def study_page(name: str) -> str:
    """Write the page of a study, from its question to its references; figures, tables and papers
    where it has a precomputed result."""
    study, result = STUDIES[name], precomputed().get(name)
    spec = study.Spec(**(result.spec if result else {}))
    parts = [
        f"# {plain(study.title)}",
        *_question(study, spec),
        *(_main_figure(name) if result else ()),
        *_list("How to read it", (f"**{plain(v.name)}.** {v.how_to_read}" for v in study.views)),
        *(_more_figures(name) if result else ()),
        *_list("What would mislead you", _caveats(study.caveats)),
        *_formulas(study.words.formulas),
        "## Options",
        "Command line, form and link use the same name and the same default for an option.",
        options_table(options_of(study.Spec)),
        *(_tables(result) if result else ()),
        *_list("Where it is computed", code_lines(study, spec)),
        *_list("References", map(reference_line, result.citations if result else ())),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _question(study: Study, spec: Spec) -> list[str]:
    return [
        f"*{plain(study.words.question or study.title)}*",
        f"{plain(study.purpose[0].upper() + study.purpose[1:])}.",
        study.words.reason,
        f"```sh\n{command_line(study.name, spec)}\n```",
    ]


def _main_figure(name: str) -> list[str]:
    """Show the main figure, and what was found."""
    found = f"> {plain(precomputed()[name].cautioned())}"
    return ["## What it shows", _image(name, figures_of(name)[0]), found]


def _more_figures(name: str) -> list[str]:
    images = [_image(name, figure) for figure in figures_of(name)[1:]]
    return ["## More figures", *images] if images else []


def _image(name: str, figure: Figure) -> str:
    file = image_of(name, figure).removeprefix(f"{FOLDER}/")
    return f"![{plain(figure.words)}]({file}){{ .figure loading=lazy }}"


def _list(title: str, lines: Iterable[str]) -> list[str]:
    """Put a heading above a list; give nothing where the list is empty."""
    points = "\n".join(f"- {line}" for line in lines)
    return [f"## {title}", points] if points else []


def _caveats(caveats: Mapping[str, str]) -> list[str]:
    return [f"**{point}** {text}" for point, text in caveats.items()]


def _formulas(formulas: Mapping[str, str]) -> list[str]:
    if not formulas:
        return []
    parts = (part for words, latex in formulas.items() for part in (words, mathml(latex)))
    return ["## What is computed", *parts]


def options_table(options: Iterable[Option]) -> str:
    """Write a table of options: flag, label, help, what it takes, default."""
    rows = ["| option | what it does | takes | default |", "|---|---|---|---|"]
    for option in options:
        name = option.name.replace("_", "-")
        flag, takes = f"`--{name}`", cell(plain(option.valid_values()))
        default = f"`{cell(text)}`" if (text := " ".join(option.write(option.default))) else "empty"
        if option.kind == "flag":
            takes = f"no value; `--no-{name}` turns it off"
            default = "on" if option.default else "off"
        words = cell(f"**{option.label}**. {option.help}")
        rows.append(f"| {flag} | {words} | {takes} | {default} |")
    return "\n".join(rows)


def _tables(result: Result) -> list[str]:
    """Say what the columns of the result's tables mean, as `result.json` does."""
    parts = ["## Tables", "A result holds these tables; files name their columns as here."]
    for table, columns in describe(result.tables).items():
        rows = [
            f"| `{column}` | {plain(title_of(table, column))} | {cell(meaning)} |"
            for column, meaning in columns.items()
        ]
        lines = ["| column | on the page | meaning |", "|---|---|---|", *rows]
        indented = "\n".join(f"    {line}" for line in lines)
        parts.append(f'??? note "{title_of_table(table)} (`{table}`)"\n\n{indented}')
    return parts


def reference_line(reference: Reference) -> str:
    """Write a paper's line, its identifier a link."""
    line = plain(reference.line)
    if reference.doi:
        said, address = plain(f"doi:{reference.doi}"), f"https://doi.org/{reference.doi}"
    elif reference.arxiv:
        said, address = (
            plain(f"arXiv {reference.arxiv}"),
            f"https://arxiv.org/abs/{reference.arxiv}",
        )
    else:
        return line
    return line.replace(said, f"[{said}]({address})")


def index_page() -> str:
    """Write the list of all studies, by page of the app."""
    parts = [
        "# Studies",
        "Each study is a view of a page, a command and an entry of `core.catalogue.STUDIES`.",
    ]
    for room, names in by_room().items():
        rows = "\n".join(
            f"| [{plain(STUDIES[name].title)}]({page_of(name).removeprefix(f'{FOLDER}/')}) "
            f"| {cell(plain(STUDIES[name].purpose))} | `{name}` |"
            for name in names
        )
        parts += [f"## {room}", f"| study | what it tells | command |\n|---|---|---|\n{rows}"]
    return "\n\n".join(parts) + "\n"


def gallery_page() -> str:
    """Write the gallery: the figures of every study, each a link to the study's page."""
    parts = [
        "# Gallery",
        "The build draws these figures from the precomputed results. Click one to open the study's "
        "page, which says how to read it.",
    ]
    for room, names in by_room().items():
        cards = [
            _card(name, figure)
            for name in names
            if name in precomputed()
            for figure in figures_of(name)
        ]
        gallery = "\n\n".join(cards)
        parts += [f"## {room}", f'<div class="gallery" markdown>\n\n{gallery}\n\n</div>']
    return "\n\n".join(parts) + "\n"


def _card(name: str, figure: Figure) -> str:
    """Make a small figure with its title a link to the study's page."""
    image = f"![{plain(figure.words)}]({image_of(name, figure)}){{ loading=lazy }}"
    words = f"{plain(STUDIES[name].title)}: {plain(figure.title)}"
    return f"[{image} {words}]({page_of(name)})"
