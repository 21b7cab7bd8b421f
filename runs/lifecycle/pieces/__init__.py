"""Texts that repeat what their thread has stored: their long parts are stored once (ADR 0016)."""
