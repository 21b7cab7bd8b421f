"""The peers' servers, which run in environments of their own; each lock pins one of these."""
