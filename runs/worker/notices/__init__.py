"""Tells people of new questions."""
