"""The words of runs, by which the runs list searches for text."""
