"""Deletion: how long a team's data is kept, and erasure on request."""
