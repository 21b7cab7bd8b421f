"""Rules of trust for several rooms: origins, outbound addresses, secrets, the requester."""
