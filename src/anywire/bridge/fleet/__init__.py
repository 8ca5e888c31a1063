"""Several servers as one: what a client asks goes to the server whose thing it is about."""
