"""Linear classifiers: how they are fitted, and what fits to the same items share."""

# coefficients above which the metric is factorised in single precision: here, so that prices are
# known without torch
LARGE = 2_500
