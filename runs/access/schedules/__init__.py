"""A team's schedules: as callers manage them, and as they fire in their owners' names."""
