
JqIÁIÄBJGÓFP7RDP-Ž@!Äl@›IZÅÄÃ