"""What explains one run to the caller: its outline, its state at an event, why it failed."""
