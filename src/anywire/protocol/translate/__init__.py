"""Between the eras: a client of one before a server of the other."""
