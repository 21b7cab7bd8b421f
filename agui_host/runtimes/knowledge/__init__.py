"""A team's knowledge for its agents' context: documents, notes, profiles."""
