import { document } from "@skein/api/Api"

/** The routes that change something. */
export const changing = Object.entries(document().paths).flatMap(([path, { post }]) => post === undefined ? [] : [path])
