"""Streams of runs in other wire formats."""
