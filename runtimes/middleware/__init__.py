"""Middleware: what stands between an agent and intake (docs/howto-middleware.md)."""
