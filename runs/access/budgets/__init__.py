"""A team's budgets, as people and keys see and change them."""
