/** Decides how many rows a statement puts at once, and keeps the texts of statements. */
import type { Dialect } from "./dialect.ts"

/** Rows in one statement at most. The sizes are powers of two, so that few different statements are prepared. */
const largest = 32

/** Cuts rows into batches; the size of each is one of six. */
export const batches = <Row>(rows: ReadonlyArray<Row>): ReadonlyArray<ReadonlyArray<Row>> => {
  const out: Array<ReadonlyArray<Row>> = []
  for (let at = 0, size = largest; at < rows.length; at += size) {
    while (size > rows.length - at) size /= 2
    out.push(rows.slice(at, at + size))
  }
  return out
}

/** The beginning of a statement that puts so many rows of these columns. */
export const insertText = (table: string, columns: ReadonlyArray<string>, rows: number): string => {
  const row = `(${Array<string>(columns.length).fill("?").join(", ")})`
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${Array<string>(rows).fill(row).join(", ")}`
}

/** Gives the text of a statement as a dialect wants it, which is written once for each key. */
export type Texts = (key: string, write: () => string) => string

/** Makes an empty collection of texts. */
export const makeTexts = (dialect: Dialect): Texts => {
  const texts = new Map<string, string>()
  return (key, write) => {
    let found = texts.get(key)
    if (found === undefined) texts.set(key, found = dialect.text(write()))
    return found
  }
}
