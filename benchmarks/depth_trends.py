"""Simulated error rates of two rules that call a trend of ranks with depth:

    python -m benchmarks.depth_trends > benchmarks/depth_trends.txt

One value per layer. Without a trend, neighbouring layers correlate by a first-order autoregression.
With a trend, a line rises by a few standard deviations from the first layer to the last. Rules:
AICc prefers a line or a parabola to a constant; the permutation test that keeps the correlation of
neighbours (`core.weights.vectors.trend_tests`) has p < .05; both, which is the rule of the app for
a single family.
"""

from __future__ import annotations

import numpy as np

from core.weights.vectors.trend_tests import trend_p_value
from core.weights.vectors.trends import fit_trend

REPLICATES = 400
DRAWS = 199
LAYERS = (6, 12, 24, 32)
CORRELATIONS = (0.0, 0.3, 0.6, 0.9)
RISES = (0, 3, 6, 12)


def wandering(layers: int, correlation: float, rng: np.random.Generator) -> np.ndarray:
    """Draw errors with unit variance whose neighbours correlate, shape (layer,)."""
    errors = rng.standard_normal(layers)
    for layer in range(1, layers):
        fresh = np.sqrt(1 - correlation**2) * errors[layer]
        errors[layer] = correlation * errors[layer - 1] + fresh
    return errors


def rates(layers: int, correlation: float, rise: float) -> tuple[float, float, float]:
    """Shares of simulated families in which AICc, the test, and both call a trend."""
    rng = np.random.default_rng(0)
    depth = np.arange(1.0, layers + 1)
    calls = []
    for _ in range(REPLICATES):
        y = wandering(layers, correlation, rng) + rise * np.linspace(0, 1, layers)
        trend = fit_trend(depth, y)
        by_aicc = trend is not None and trend.kind != "constant"
        by_test = trend_p_value(depth, y, DRAWS) < 0.05
        calls.append((by_aicc, by_test, by_aicc and by_test))
    aicc, test, both = np.mean(calls, axis=0)
    return float(aicc), float(test), float(both)


def main() -> None:
    """Print a line per number of layers, correlation and rise."""
    print(
        f"Share of {REPLICATES} simulated families with a called trend; {DRAWS} permutations."
        "\nWith a rise of 0 every call is a false positive.\n"
    )
    print(f"{'layers':>6}{'correlation':>13}{'rise, sd':>10}{'AICc':>8}{'test':>8}{'both':>8}")
    for rise in RISES:
        for layers in LAYERS:
            for correlation in CORRELATIONS:
                shares = "".join(f"{share:>8.3f}" for share in rates(layers, correlation, rise))
                print(f"{layers:>6}{correlation:>13.1f}{rise:>10}{shares}", flush=True)


if __name__ == "__main__":
    main()
