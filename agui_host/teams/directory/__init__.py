"""People whom an identity provider puts into teams: at their sign-in, or by SCIM."""
