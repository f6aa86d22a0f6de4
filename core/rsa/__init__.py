"""Representational similarity: which layers does fine-tuning change, and how much?"""
