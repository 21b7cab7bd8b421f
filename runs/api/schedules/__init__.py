"""The schedules resource: when a team's runs start by themselves."""
