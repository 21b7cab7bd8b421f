"""One machine's processes: embedded PostgreSQL and Valkey, and who looks after web and worker."""
