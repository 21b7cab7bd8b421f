"""SCIM 2.0 (RFC 7643, 7644): a company's directory puts people and groups into a team."""
