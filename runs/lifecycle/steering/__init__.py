"""Messages to active runs: their numbers, whether an agent has read them, and the unread ones."""
