"""Questions made by rule from parsed text, for the included readers."""
