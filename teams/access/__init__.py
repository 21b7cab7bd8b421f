"""Members, invitations, keys and tickets of a team: what a Principal may do with them."""
