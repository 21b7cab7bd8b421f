"""The owners of other wire formats judge ours: their own clients against a running host."""
