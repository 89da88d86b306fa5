/** Decides which other files a text includes: `@path` in it, but not in what it shows as code. */

/** A file that is included. */
export interface Include {
  readonly name: string
  /** Where, counted from 1. */
  readonly line: number
}

/** The most that are looked for. */
const most = 100

/** What a text includes, in its order. */
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
      // A sentence may end behind the name.
      found.push({ name: name.replace(/[.,;:!?)\]]+$/, ""), line: index + 1 })
    }
  }
  return found.filter(({ name }) => name !== "").slice(0, most)
}
