"""The pages of operators, for all teams: the host, limits, accounts, second factors."""
