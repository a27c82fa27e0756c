
J
E™<ËFF^D