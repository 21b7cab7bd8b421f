"""The alerts of a team over the API."""
