"""How a run's log is read from a moment on: cuts for late joiners, and corrected by snapshots."""
