"""Workers that are killed, frozen and replaced, for long."""
