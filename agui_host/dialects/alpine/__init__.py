"""Alpine: a run as its named events."""
