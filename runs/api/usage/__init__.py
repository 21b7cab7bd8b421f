"""What a team uses: its limits, its usage over time, and the prices of models."""
