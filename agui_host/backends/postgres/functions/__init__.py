"""The host's functions and triggers in PostgreSQL: their files, installation and rights."""
