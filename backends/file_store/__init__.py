"""Where the bytes of uploaded files are: a directory of this machine, or a bucket."""
