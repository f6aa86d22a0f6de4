"""What is drawn for the tensors of a file is drawn in the order of their names.

Their order in the file is not fixed, so that every process would draw other numbers for each.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests import ROOT

DRAWS = {
    *("normal", "standard_normal", "uniform", "integers", "permutation", "random", "choice"),
    *("randn", "randn_like", "rand", "rand_like", "randint", "normal_", "uniform_"),
}


def called(node: ast.AST) -> set[str]:
    """The last parts of the names of all functions that are called here."""
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return {
        call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls
    }


def unordered(tree: ast.AST) -> Iterator[int]:
    """The lines of loops over what `load_file` read that draw numbers in the file's order."""
    for function in (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)):
        nodes = [*ast.walk(function)]
        read = {
            target.id for each in nodes if isinstance(each, ast.Assign)
            for target in each.targets
            if isinstance(target, ast.Name) and "load_file" in called(each.value)
        }  # fmt: skip
        for loop in nodes:
            for part in [loop] if isinstance(loop, ast.For) else getattr(loop, "generators", ()):
                names = {each.id for each in ast.walk(part.iter) if isinstance(each, ast.Name)}
                over = names & {"load_file", *read} and "sorted" not in called(part.iter)
                if over and called(loop) & DRAWS:
                    yield loop.lineno


@pytest.mark.slow
def test_numbers_are_drawn_in_the_order_of_names() -> None:
    files = [
        file
        for top in ("core", "zoo", "benchmarks", "tests")
        for file in ROOT.joinpath(top).rglob("*.py")
    ]
    texts = {file: file.read_text(encoding="utf8") for file in files}
    found = [
        f"{file.relative_to(ROOT)}:{line}"
        for file, text in sorted(texts.items()) if "load_file" in text
        for line in unordered(ast.parse(text))
    ]  # fmt: skip
    assert found == []


@pytest.mark.parametrize(
    ("over", "lines"),
    [
        ("load_file(f).items()", 2),
        ("read.items()", 2),
        ("sorted(read.items())", 0),
        ("b.items()", 0),
    ],
)
def test_a_loop_in_the_order_of_a_file_is_seen(over: str, lines: int) -> None:
    loops = f"for n, t in {over}:\n  t += g.normal()\n d = {{n: t + randn(3) for n, t in {over}}}"
    text = f"def f(g, b):\n read = load_file(f)\n {loops}\n for n in read:\n  print(n)"
    assert len([*unordered(ast.parse(text))]) == lines
