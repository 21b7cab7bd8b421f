"""The servers of an address: which of several is the primary, and what is between us and them."""
