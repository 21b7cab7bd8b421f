"""Frameworks whose agents continue a run that has lost its worker; each needs its extra."""
