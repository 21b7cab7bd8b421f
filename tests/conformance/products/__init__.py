"""Products and conformance suites as their owners publish them, each at its own defaults."""
