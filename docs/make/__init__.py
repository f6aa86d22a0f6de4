"""Pages of the documentation that are made from the code: studies, gallery, models, formulas.

Their sentences are those of the app: every `Study` says its purpose, formulas and caveats once.
"""
