"""TanStack AI: AG-UI's events with a cursor, and threads as its pages show them."""
