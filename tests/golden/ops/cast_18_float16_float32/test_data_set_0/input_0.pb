
JcO LwSU1U‚Q