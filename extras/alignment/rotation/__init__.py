"""Rotation or linear map: are two models' spaces rotations of each other?"""
