"""Reactions in SMILES for models of chemistry: esterifications and amide couplings.

A sentence is a reaction, a word a molecule: acid . alcohol >> ester. The packages hold one reaction
only, so these are put together here from acyl groups and what they are joined to.
"""

from __future__ import annotations

import random
from pathlib import Path

ACYLS = (
    *("CC(=O)", "CCC(=O)", "CC(C)C(=O)", "CCCC(=O)", "O=C(CCl)", "O=C(CBr)", "CC(C)(C)C(=O)"),
    *("c1ccccc1C(=O)", "Cc1ccc(cc1)C(=O)", "Clc1ccc(cc1)C(=O)", "c1ccncc1C(=O)", "c1ccoc1C(=O)"),
)
ALCOHOLS = ("OC", "OCC", "OCCC", "OC(C)C", "OCCCC", "OCc1ccccc1", "Oc1ccccc1", "OCCCl", "OC1CCCCC1")
AMINES = ("NC", "NCC", "N(C)C", "NC(C)C", "N1CCOCC1", "N1CCCC1", "Nc1ccccc1", "NCc1ccccc1", "NCCO")
SEED = 0


def reactions() -> list[list[str]]:
    """List all reactions, each as its molecules and signs, in an order without pattern."""
    made = [
        [f"{acyl}{leaving}", ".", partner, ">>", f"{acyl}{partner}"]
        for acyl in ACYLS
        for leaving, partners in (("O", ALCOHOLS), ("Cl", AMINES))
        for partner in partners
    ]
    random.Random(SEED).shuffle(made)
    return made


def write_reactions(path: Path) -> Path:
    """Write the reactions as CoNLL-U without heads."""
    blank = "\t".join("_" * 8)
    sentences = (
        "".join(f"{number}\t{word}\t{blank}\n" for number, word in enumerate(words, start=1))
        for words in reactions()
    )
    path.write_text("\n".join(sentences) + "\n", encoding="utf8")
    return path
