"""One machine's processes: embedded PostgreSQL and Valkey, and the supervisor of web and worker."""
