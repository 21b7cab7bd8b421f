"""Benchmarks of sockets."""
