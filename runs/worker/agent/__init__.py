"""All that an agent gets from the worker that executes it: its context, and its messages."""
