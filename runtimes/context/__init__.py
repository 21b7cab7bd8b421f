"""What an agent gets: RunContext, and the parts that it is made of. Imports no Django."""
