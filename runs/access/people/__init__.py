"""All that the host has about one person: its export, and its erasure (docs/personal-data.md)."""
