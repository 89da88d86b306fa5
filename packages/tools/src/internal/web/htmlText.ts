/**
 * Converts HTML into markdown or plain text while it is parsed, in linear time. Pages are untrusted, and converters
 * that build a tree take minutes for some.
 */
import type { ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import { Parser } from "htmlparser2"
import { refuse } from "../refusal.ts"
import { markdownWriter } from "./markdownWriter.ts"

/** How deeply elements may be nested. */
const maximumDepth = 512

/** How much is parsed before other fibers get a turn. */
const piece = 64 * 1024

/** Elements that are not shown. */
const silent = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "head",
  "iframe",
  "object",
  "canvas",
  "select",
  "button"
])

/** The text of a page; with `plain`, without markdown syntax. Links and images become absolute with `base`. */
export const htmlText = Effect.fnUntraced(function*(
  html: string,
  base: string,
  plain: boolean
): Effect.fn.Return<string, ToolError> {
  const writer = markdownWriter(base, plain)
  let depth = 0
  let deepest = 0
  let hidden = 0
  const parser = new Parser({
    onopentag: (name, attributes) => {
      deepest = Math.max(deepest, ++depth)
      if (silent.has(name)) hidden++
      else if (hidden === 0) writer.open(name, attributes)
    },
    ontext: (text) => {
      if (hidden === 0) writer.text(text)
    },
    onclosetag: (name) => {
      depth--
      if (silent.has(name)) hidden--
      else if (hidden === 0) writer.close(name)
    }
  })
  for (let at = 0; at < html.length; at += piece) {
    parser.write(html.slice(at, at + piece))
    if (deepest > maximumDepth) {
      return yield* refuse(
        "unreadable",
        "The page's elements lie too deep in one another to be converted. Ask for format html."
      )
    }
    yield* Effect.yieldNow()
  }
  parser.end()
  return writer.end()
})
