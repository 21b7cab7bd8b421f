"""A run's log as a file: exactly as it is stored, or for the tools of others."""
