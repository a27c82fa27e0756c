
JHôFñÆ§Â5ÈõEyGiH@úAlB=HÄ?êÁ