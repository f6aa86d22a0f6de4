"""Statements of a result by what they say: what tests of the room's headlines ask."""

from __future__ import annotations

from collections.abc import Iterable

from core.results.statements import Statement


def stated(statements: Iterable[Statement], verdict: str, subject: str = "") -> Statement:
    """The only statement with this verdict, of this subject where one is named."""
    (statement,) = all_stated(statements, verdict, subject)
    return statement


def all_stated(statements: Iterable[Statement], verdict: str, subject: str = "") -> list[Statement]:
    """Every statement with this verdict, of this subject where one is named."""
    return [
        statement
        for statement in statements
        if statement.verdict == verdict and subject in ("", statement.subject)
    ]


def unnamed(statements: Iterable[Statement], sentence: str) -> list[Statement]:
    """The statements whose number a sentence does not give."""
    return [statement for statement in statements if not statement.named_in(sentence)]
