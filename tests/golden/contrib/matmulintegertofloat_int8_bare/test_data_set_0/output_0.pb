Jx¹µÁ„À˜Á–CñÂ…ÙBS¸ìÁÂä¥×A[dßÁgfYBOböÁ®oÁ@5ÄB€ºÂw>ƒBjÂ½týÁP‡BÞ$ÂObèA8‰6ÂÓM
AÃõà@Ã*\rBHáJAÃõ‹ÂHáEBUcÿÂØ£ÖBZòÁ