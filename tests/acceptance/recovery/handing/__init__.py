"""Processes are hurt while starts hand their runs to workers (docs/adr/0020)."""
