"""The page of a thread: all of its runs as one conversation."""
