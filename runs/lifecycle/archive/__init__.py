"""The archive of a run: a file that holds all of it, and can be imported again."""
