"""Taking one run along, bringing it back, and comparing it with another."""
