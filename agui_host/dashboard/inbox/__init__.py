"""The inbox: agents' questions as forms, on their own page and on the pages of runs."""
