"""Benchmarks of deployments."""
