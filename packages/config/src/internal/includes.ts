/** Finds the files that a text includes: `@path` outside code. */

/** An included file. */
export interface Include {
  readonly name: string
  /** Its place, counted from 1. */
  readonly line: number
}

/** The maximum number of includes. */
const most = 100

/** The includes of a text, in order. */
export const includesOf = (text: string): ReadonlyArray<Include> => {
  const found: Array<Include> = []
  let fence: string | undefined
  for (const [index, written] of text.split("\n").entries()) {
    const mark = /^\s*(`{3,}|~{3,})/.exec(written)?.[1]?.[0]
    if (mark !== undefined && (fence === undefined || fence === mark)) {
      fence = fence === undefined ? mark : undefined
      continue
    }
    if (fence !== undefined) continue
    for (const [, name = ""] of written.replaceAll(/`[^`]*`/g, " ").matchAll(/(?:^|\s)@([\w~./][^\s@]*)/g)) {
      // A full stop may follow the name.
      found.push({ name: name.replace(/[.,;:!?)\]]+$/, ""), line: index + 1 })
    }
  }
  return found.filter(({ name }) => name !== "").slice(0, most)
}
