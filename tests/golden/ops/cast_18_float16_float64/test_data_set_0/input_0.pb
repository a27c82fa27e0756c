
JÈTÒTÔSUºP≠T