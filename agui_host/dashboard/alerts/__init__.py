"""The page of alerts: their states, their history, and the form that makes one."""
