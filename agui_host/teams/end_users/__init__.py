"""End users: people whom a key's owner names in signed tokens, and for whom the key acts."""
