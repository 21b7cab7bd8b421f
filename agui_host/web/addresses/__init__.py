"""How an address is declared: its route, and its description."""
