/** Decides how many rows one statement inserts, and caches the texts of statements. */
import type { Dialect } from "./dialect.ts"

/** The maximum number of rows in one statement. */
const largest = 32

/** Up to this many rows are one statement. Larger sizes are powers of two, so that few different statements are prepared. */
const small = 8

/** Splits rows into batches of ten possible sizes. */
export const batches = <Row>(rows: ReadonlyArray<Row>): ReadonlyArray<ReadonlyArray<Row>> => {
  const out: Array<ReadonlyArray<Row>> = []
  for (let at = 0, size = largest; at < rows.length; at += size) {
    while (size > rows.length - at) size = size > small ? size / 2 : rows.length - at
    out.push(rows.slice(at, at + size))
  }
  return out
}

/** The beginning of a statement that inserts this many rows of these columns. */
export const insertText = (table: string, columns: ReadonlyArray<string>, rows: number): string => {
  const row = `(${Array<string>(columns.length).fill("?").join(", ")})`
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${Array<string>(rows).fill(row).join(", ")}`
}

/** Returns the text of a statement in the syntax of a dialect, written once for each key. */
export type Texts = (key: string, write: () => string) => string

/** Makes an empty cache of texts. */
export const makeTexts = (dialect: Dialect): Texts => {
  const texts = new Map<string, string>()
  return (key, write) => {
    let found = texts.get(key)
    if (found === undefined) texts.set(key, found = dialect.text(write()))
    return found
  }
}
