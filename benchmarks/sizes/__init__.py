"""How large a deployment is: a model, and how well it predicts what was measured."""
