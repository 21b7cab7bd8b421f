"""PostgreSQL and Valkey as the host uses them: connections, deadlines, bell, cache, streams."""
