"""The kinds of runtime: what runs an agent. ``table.py`` lists them."""
