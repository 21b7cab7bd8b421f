"""What runs spend, and how much they are allowed to."""
