"""What explains one run to the caller: its outline, and why it failed."""
