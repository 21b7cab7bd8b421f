"""The statements of the hot path, written by hand: a new run, its claim, its end."""
