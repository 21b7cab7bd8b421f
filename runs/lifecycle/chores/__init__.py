"""The work that follows runs, in the background: whether it keeps pace."""
