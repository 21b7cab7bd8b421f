"""Messages to active runs: their numbers, who has read them, and what becomes of unread ones."""
