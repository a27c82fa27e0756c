
JXQcS%UÁE2TPP