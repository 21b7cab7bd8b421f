"""Wiring of the AG-UI run host, and the leaf modules every room can use."""
