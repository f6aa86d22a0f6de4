"""Rotation or linear map: are two models' spaces rotations of each other?"""

PURPOSE = "whether two models' spaces are rotations of each other, up to one scale"
