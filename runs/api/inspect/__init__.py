"""Resources that explain one run: its outline, its state at an event, and why it failed."""
