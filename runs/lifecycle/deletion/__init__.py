"""Deletion: what a team keeps for how long, and erasure on request."""
