
J
•=NFÎE-GlA