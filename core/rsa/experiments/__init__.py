"""Experiments of the RSA room beside its main study; each offers Spec, prepare, plan, collect, run_study, figures."""
