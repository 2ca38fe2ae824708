"""`tidelog log`: the files of logs, dumped and checked without a broker."""
