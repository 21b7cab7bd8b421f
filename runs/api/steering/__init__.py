"""Messages to runs that are active."""
