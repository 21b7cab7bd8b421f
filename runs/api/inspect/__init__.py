"""Resources that explain one run: its outline, and why it failed."""
