"""Representational similarity: in which layers do fine-tuned models differ from their base, and by
how much?"""
