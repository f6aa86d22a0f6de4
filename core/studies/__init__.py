"""The studies, a folder each, in four rooms: one a page."""
