"""Middleware: between an agent and intake (docs/howto-middleware.md)."""
