"""The pages of data sets: runs to review, trials, and their comparison."""
