"""The life of uploaded files: reserved, stored, referred to by threads, expired and swept."""
