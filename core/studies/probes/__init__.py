"""Probes: which layers encode syntax linearly, and how does fine-tuning change that?"""
