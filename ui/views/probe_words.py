"""What the probe page says of its method: the formulas, and what to beware of."""

from __future__ import annotations

FORMULAS = {
    "Distance probe: the squared distance after a linear map is the number of edges between two words": (
        r"d_B(h_i, h_j)^2 = \lVert B (h_i - h_j) \rVert^2 \approx d_T(w_i, w_j), \qquad B \in \mathbb{R}^{k \times d}"
    ),
    "Depth probe: the squared norm is the number of edges to the root": (
        r"\lVert B h_i \rVert^2 \approx \mathrm{depth}(w_i)"
    ),
    "What is minimised": (
        r"\min_B \frac{1}{|S|} \sum_{s} \frac{1}{n_s^2} \sum_{i,j} \bigl| d_T(w_i, w_j) - d_B(h_i, h_j)^2 \bigr|"
    ),
}
CAVEATS = """
**What would mislead you here**

- **Position is half of syntax.** Joining each word to the next scores 43 UUAS on English web text without knowing any
  syntax. Models with rotary or relative positions keep them out of their vectors, and a linear probe on such vectors
  cannot even say which words are neighbours; a code of each word's place therefore stands beside them. What counts is
  the margin over a probe on the code alone and over the untrained model with it.
- **A probe can learn the task itself.** Control trees, in which every word type has a fixed random rule for its head,
  are learned from words and positions alone. What counts is how far the real score stands above theirs. One draw of
  the rules is one language among many: several are taken, and their spread is in the band.
- **Control depths are positional.** Every head in a control tree stands to the left and the first word is the root, so
  depth follows place: a negative selectivity of root accuracy says that first words are easy, not that nothing was
  found.
- **Trees drawn by a parser are parses, not gold.** A model cannot be shown to know more than the parser; the
  parser's own score stands in the table.
- **UUAS forgives direction.** Edges have no arrows and labels do not count; punctuation is left out of both trees.
- **Few probes.** A score is a mean over probes from several initial maps; they share one split and one order of
  sentences.
- **Present is not used.** That a tree can be read off the vectors does not show that the model reads it.
"""
