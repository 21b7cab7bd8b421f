"""What teams use: the prices of their models, and their usage by hour, added up."""
