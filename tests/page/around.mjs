export const around = [];
