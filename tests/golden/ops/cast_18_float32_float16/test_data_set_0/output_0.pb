
J9VhLˆD%U\L2P