"""This host beside CopilotKit's runtime and bare servers, in one run: ``make bench-peers``."""
