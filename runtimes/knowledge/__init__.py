"""What a team knows, for its agents' context: documents, notes, profiles."""
