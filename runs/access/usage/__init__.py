"""The usage of a team: of its limits, and its runs, tokens and cost over time."""
