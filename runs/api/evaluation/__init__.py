"""Labels, data sets and trials over the API."""
