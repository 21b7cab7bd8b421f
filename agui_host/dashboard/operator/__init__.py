"""The pages of operators, for all teams: limits, accounts, second factors."""
