"""A toy: a client says a text, and reads the words of the answer, one a line."""
