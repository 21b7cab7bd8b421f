"""Reading runs that have ended: their tool calls, and the issues of failed ones."""
