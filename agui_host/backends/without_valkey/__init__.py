"""Bell, cache and seats in PostgreSQL, for a host whose ``REDIS_URL`` is empty (ADR 0010)."""
