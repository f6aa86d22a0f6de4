"""The command line: `python -m core rsa|probe|...|zoo|store`, with the same studies as the pages.

A command's module is imported when the command is used, so that `--help` answers at once. The
parser is the standard library's: flags are made from options when a command is known, for which
libraries that read flags from signatures have no place.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module

from core import COMMAND
from core.catalogue import STUDIES
from core.commands import study
from core.errors import PalimpsestError, nearest, readable_error
from core.results.folder import try_folder

# command -> (module with add_arguments(parser) and main(arguments), one line of help); studies are
# in the catalogue
COMMANDS = {
    "app": ("ui.server.command", "start the app"),
    "diff": (
        "core.commands.diff",
        "compare a model with its base: every study that fits the pair, and one report",
    ),
    "sweep": (
        "core.commands.sweep",
        "run studies with every combination of the values that a file lists, into one table",
    ),
    "convert": (
        "core.commands.convert",
        "write a model's pickled, quantised or GGUF weights as safetensors",
    ),
    "zoo": ("core.commands.zoo", "list or verify the included models"),
    "store": ("core.commands.store", "show or clear the store of computed results"),
}


STOPPED = "palimpsest: stopped. What was computed is kept; the same command resumes from there."


class Terminated(KeyboardInterrupt):
    """The process received SIGTERM."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status; errors for users go to stderr."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        parser, run, flags = _read_command(argv)
        arguments, unknown = parser.parse_known_args(argv)
        if unknown:
            raise _unknown(argv[0], unknown[0].partition("=")[0], flags)
        assert run is not None  # argparse exits with a message if the first word is no command
        if getattr(arguments, "out", None) is not None:
            try_folder(arguments.out)
        status = run(arguments)
        sys.stdout.flush()
        return status
    except (PalimpsestError, OSError) as error:
        reason = readable_error(error)
        if not isinstance(reason, PalimpsestError):
            raise
        print(f"palimpsest: {reason}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print(STOPPED, file=sys.stderr)
        return 143 if isinstance(stop, Terminated) else 130


def all_commands() -> dict[str, str]:
    """Return every command with its line of help, studies first."""
    return STUDIES.purposes() | {name: line for name, (_, line) in COMMANDS.items()}


def _read_command(
    argv: list[str],
) -> tuple[argparse.ArgumentParser, Callable[[argparse.Namespace], int] | None, list[str]]:
    """Make the parser and find what runs it and the flags that it has; `align check` becomes one
    word of `argv`."""
    names = (" ".join(argv[:2]), " ".join(argv[:1]))  # `align check` before `align`
    asked = next((name for name in names if name in STUDIES), None)
    if asked is not None:
        argv[: len(asked.split())] = [asked]
    elif argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        raise _no_such("command", argv[0], all_commands(), "--help")
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="Palimpsest: what fine-tuning and pretraining seeds do to a Transformer.",
        epilog="COMMAND --help lists a command's options and their defaults. A first study: "
        "rsa --compare zoo:parse-0 --out out/rsa",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    run: Callable[[argparse.Namespace], int] | None = None
    flags: list[str] = []
    for name, line in all_commands().items():
        command = commands.add_parser(name, help=line, description=line[0].upper() + line[1:] + ".")
        if argv[:1] != [name]:
            continue
        if asked is not None:
            study.add_arguments(command, asked)
            run = partial(study.main, asked)
        else:
            module = import_module(COMMANDS[name][0])
            module.add_arguments(command)
            run = module.main
        flags = re.findall(r"--[\w-]+", command.format_usage())
    return parser, run, flags


def _unknown(command: str, word: str, flags: Iterable[str]) -> PalimpsestError:
    """Say that a command has no such flag, or that there is no command of two such words."""
    room, _, _ = command.partition(" ")
    study = f"{room} {word.lstrip('-')}"  # as an option that became a study
    if word.startswith("-") and study in STUDIES:
        return PalimpsestError(
            f"{word} is no option of {command}, but a study of its own: `{COMMAND} {study} --help`."
        )
    if word.startswith("-"):
        return _no_such("option", word, flags, f"{command} --help")
    return _no_such("command", f"{command} {word}", all_commands(), "--help")


def _no_such(noun: str, word: str, there: Iterable[str], listing: str) -> PalimpsestError:
    near = nearest(word, there)
    hint = f"; the nearest is {near}" if near else ""
    return PalimpsestError(f"There is no {noun} {word!r}{hint}. `{COMMAND} {listing}` lists all.")
