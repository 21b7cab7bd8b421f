"""The versions of agents: digests of their code, or of their target, and of their settings."""
