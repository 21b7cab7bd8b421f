"""RunContext, which every agent gets, and its parts. Imports no Django."""
