"""``agui-host doctor``: looks at an installation, and explains each fault with its remedy."""
