"""Members, invitations, keys and tickets of a team: a Principal's actions on them."""
