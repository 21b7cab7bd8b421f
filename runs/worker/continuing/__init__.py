"""What a worker does so that its runs outlive it."""
