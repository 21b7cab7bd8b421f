"""Processes of a host that begin as copies of one that has imported other people's packages."""
