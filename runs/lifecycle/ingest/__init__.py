"""Runs that are executed elsewhere: their producers hand in the events, batch by batch."""
