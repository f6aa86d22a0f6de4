"""Formulas as MathML, which browsers draw without a script."""

from __future__ import annotations

import re

from latex2mathml.converter import convert

BLOCK = re.compile(r"^```math\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
BRACES = {r">\{<": ">{<", r">\}<": ">}<"}  # the converter leaves them escaped behind \Bigl


def mathml(latex: str) -> str:
    """Convert a formula to a MathML element that stands on a line of its own.

    Args:
        latex: What stands between the dollar signs.

    Raises:
        ValueError: If a part of it is not understood and would be drawn as a command.
    """
    element = convert(latex, display="block")
    for escaped, brace in BRACES.items():
        element = element.replace(escaped, brace)
    if leftover := re.search(r">\s*\\[A-Za-z]+", element):
        raise ValueError(f"{leftover[0][1:]!r} of the formula {latex!r} has no MathML.")
    return f'<div class="formula">{element}</div>'


def with_formulas(markdown: str) -> str:
    """Replace the blocks of a page that are marked `math` by their MathML."""
    return BLOCK.sub(lambda match: mathml(match[1].strip()), markdown)
