"""The pages of a person's account: signing in, the second factor, sessions."""
