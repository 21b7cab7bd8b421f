"""Readers of runs over the wires of all dialects that can follow a run."""
