/** Splits a Markdown file with front matter: keys with their places, and the text below them. */
import * as Effect from "effect/Effect"
import type { ConfigIssue } from "../ConfigError.ts"
import { issueIn } from "./configContent.ts"
import { type Located, start } from "./located.ts"
import { readText } from "./readText.ts"

/** The two parts of a file. */
interface Matter {
  readonly front: string
  readonly body: string
  /** The number of lines above the body. */
  readonly lines: number
}

/** Splits front matter and text; undefined if the front matter does not end. */
const split = (text: string): Matter | undefined => {
  const open = /^---[ \t]*(?:\n|$)/.exec(text)?.[0]
  if (open === undefined) return { front: "", body: text, lines: 0 }
  const rest = text.slice(open.length)
  const close = /^---[ \t]*(?:\n|$)/m.exec(rest)
  if (close === null) return undefined
  const front = rest.slice(0, close.index)
  return { front, body: rest.slice(close.index + close[0].length), lines: front.split("\n").length + 1 }
}

/** Reads front matter, which begins in the second line of its file. */
const parseFront = (front: string) =>
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

/** The front matter and the text of one of Skein's own files; fails with all that is wrong. */
export const readFront = Effect.fnUntraced(function*(file: string) {
  const issueAt = issueIn(file)
  const fail = (message: string, at = start) => Effect.fail<ReadonlyArray<ConfigIssue>>([issueAt({ at, message })])
  const text = yield* Effect.mapError(readText(file), (error): ReadonlyArray<ConfigIssue> => [{ file, ...error }])
  const matter = split(text.replaceAll("\r\n", "\n"))
  if (matter === undefined) return yield* fail("the front matter does not end; close it with a line of ---")
  const { faults, tree } = yield* Effect.catchAll(parseFront(matter.front), (message) => fail(message))
  if (faults.length > 0) return yield* Effect.fail(faults.map(issueAt))
  if (tree.kind !== "object") {
    return yield* fail("the front matter must be keys with values, such as description: text", tree.at)
  }
  return { ...matter, body: matter.body.trim(), above: /^\s*\n/.exec(matter.body)?.[0].split("\n").length ?? 1, tree }
})
