"""A start hands its run to a worker of the same machine (docs/adr/0020-the-handed-start.md)."""
