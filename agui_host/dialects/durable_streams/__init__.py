"""Durable Streams 1.0: a run's log as a stream, and a producer that feeds it."""
