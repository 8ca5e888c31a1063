"""What a file of servers says: text in, data out, for the files that editors and agents keep their servers in."""
