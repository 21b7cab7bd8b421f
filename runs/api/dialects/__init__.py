"""What clients of other wire formats ask for besides streams."""
