
JD(PT%HMULD