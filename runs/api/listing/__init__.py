"""A list of runs as an address or a saved view names it: its box, filters and texts."""
