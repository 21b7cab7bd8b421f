"""A run outlives its worker: its effects, and how another worker continues it."""
