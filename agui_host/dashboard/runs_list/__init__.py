"""What people do on the runs list: choose columns, save views, act on many runs at once."""
