"""The worker's part in runs that outlive it."""
