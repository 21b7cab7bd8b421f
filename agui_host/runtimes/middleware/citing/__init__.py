"""The parts of ``citations``: finding quotes, keeping their state, checking them."""
