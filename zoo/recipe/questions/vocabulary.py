"""Words that the rules of questions know: persons, places, times, and function words."""

from __future__ import annotations

import re

_PERSONS = """
actor actress author baby boy brother captain child children clerk critic daughter director doctor
father fellow friend gentleman girl guy hero husband judge king lady lawyer leader lord madam man
master men minister miss mother officer parent parents people person poet president priest prince
princess queen servant sister soldier son student teacher uncle aunt wife woman women writer
"""
_PLACES = """
area bank barn bed bedroom building camp castle chair chamber church city college corner country
county court door england europe farm field fire floor forest france garden gate ground hall hill
home hospital hotel house iraq island kitchen lake land library london market office palace paris
park place restaurant river road room school sea shop side sofa station store street table theatre
theater town tree university valley village wall water window woods world yard york
"""
_TIMES = """
afternoon april august autumn breakfast century christmas day days december decade dinner easter
evening february friday hour hours january july june lunch march may midnight minute minutes moment
monday month months morning night nights noon november october saturday september spring summer
sunday thursday time today tomorrow tonight tuesday wednesday week weekend weeks winter year years
yesterday
"""
_NEAR = """
near inside outside behind beside under above below across into beneath along towards toward through
around
"""
_FUNCTION = """
a an and are as at be been but by can could did do does for from had has have he her him his how i
if in into is it its me my of on or our she should so some than that the their them then there these
they this those to us was we were what when where which who whom why will with would you your
"""
PERSONS = frozenset(_PERSONS.split())
PLACES = frozenset(_PLACES.split())
TIMES = frozenset(_TIMES.split())
YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
NEAR_PLACES = frozenset(_NEAR.split())
"""Prepositions that say of most nouns that they are places."""
PLACE_CASES = NEAR_PLACES | {"at", "in", "on", "within", "upon"}
FUNCTION_WORDS = frozenset(_FUNCTION.split())
