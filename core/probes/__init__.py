"""Structural probes: is syntax linearly there, in which layers, and what is left of it after fine-tuning?"""
