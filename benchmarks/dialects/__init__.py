"""Benchmarks of dialects."""
