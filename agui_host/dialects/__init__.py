"""Runs and threads as the front ends of other wire formats see them."""
