"""Runs are handed to workers that are hurt (docs/adr/0020), and by workers that leave."""
