"""The steps of a training run, compared with the final model."""

PURPOSE = "steps of a training run compared with the final model, by layer and tokens seen"
