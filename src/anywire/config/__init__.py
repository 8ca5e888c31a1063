"""What a file of servers says: text in, data out, for the files in which editors and agents keep theirs."""
