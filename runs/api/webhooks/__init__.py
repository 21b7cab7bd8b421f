"""The webhooks resource: a team's webhooks, their secrets and their deliveries."""
