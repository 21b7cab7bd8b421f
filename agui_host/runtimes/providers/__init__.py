"""Context providers: add to an agent's input before a run."""
