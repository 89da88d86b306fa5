/** Splits a Markdown file with front matter: keys with their places, and the text below them. */
import * as Effect from "effect/Effect"
import type { Located } from "./located.ts"

/** The two parts of a file. */
interface Matter {
  readonly front: string
  readonly body: string
  /** The number of lines above the body. */
  readonly lines: number
}

/** Splits front matter and text; undefined if the front matter does not end. */
export const split = (text: string): Matter | undefined => {
  const open = /^---[ \t]*(?:\n|$)/.exec(text)?.[0]
  if (open === undefined) return { front: "", body: text, lines: 0 }
  const rest = text.slice(open.length)
  const close = /^---[ \t]*(?:\n|$)/m.exec(rest)
  if (close === null) return undefined
  const front = rest.slice(0, close.index)
  return { front, body: rest.slice(close.index + close[0].length), lines: front.split("\n").length + 1 }
}

/** Reads front matter, which begins in the second line of its file. */
export const parseFront = (front: string) =>
  front.trim() === ""
    ? Effect.succeed({
      tree: { kind: "object", at: { line: 1, column: 1 }, entries: [] } satisfies Located,
      faults: []
    })
    : Effect.flatMap(Effect.promise(() => import("./locatedYaml.ts")), ({ parseYaml }) =>
      Effect.try({
        try: () => parseYaml(front, 1),
        catch: () => "the front matter is nested more than 100 levels deep"
      }))
