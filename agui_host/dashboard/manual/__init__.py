"""The documentation, served by the host that it describes."""
