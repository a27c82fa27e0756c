
J‰RžTŸT™F6U8C