"""What happened to the servers behind a bridge, as numbers and states: no I/O, and no clock of its own."""
