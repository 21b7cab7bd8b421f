"""The inbox: agents' questions as forms, on a page of their own and on the pages of runs."""
