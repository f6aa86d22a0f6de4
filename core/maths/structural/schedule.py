"""Constants of the published training schedule, for the trainer, the prices and the methods
paragraph.

Reference: Hewitt & Manning 2019, NAACL, appendix A.1, and the published code's `regimen.py`.
"""

from __future__ import annotations

BATCH = 20  # sentences per step
EPOCHS = 40
PATIENCE = 5  # epochs without a new minimum after which a probe stops
LEARNING_RATE = 1e-3
DECAY = 0.1
IMPROVEMENT = 1e-4  # of the development loss that makes a new minimum
STILL = 1e-5  # steps of an epoch times the rate, below which no epoch was seen to make a minimum
SPREAD = 0.05  # of the initial map's entries
AT_HAND = 2**28  # bytes up to which all vectors are held in the precision of training
BETAS, EPSILON = (0.9, 0.999), 1e-8
