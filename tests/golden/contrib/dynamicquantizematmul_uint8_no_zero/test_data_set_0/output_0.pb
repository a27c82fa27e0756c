Jxg7¡À÷ÝÀ’âi¿øáIÁõÁÝKyA´ AXŒÒAWB¸§Ad·êAQSB¿¹
BIˆÜAS<BGÓÀA-BÕ=éAÄÊA¤d'B…@+As?„AŠA5;%A»„@ª9¢@øæ/Aá„Ê¾û×LÀÂ;ˆ@