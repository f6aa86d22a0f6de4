"""Golden results: what every study makes of stored outputs, written down, so that a change inside
the house that should change nothing is seen to change nothing.

`python -m tests.golden` writes them anew, after a change that is meant to be seen.
"""
