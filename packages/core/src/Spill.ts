/** Owns texts that are too long for a model: stores them in a file, whose path the model gets. */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** How much of a tool's output a model sees. */
export const bound = { lines: 2_000, bytes: 50 * 1024 } as const

/** Keeps long texts. */
export class Spill extends Context.Tag("@skein/core/Spill")<Spill, {
  /**
   * Stores a text and returns the path for the `read` tool. `undefined` if it could not be stored: the truncated text
   * then says so.
   */
  readonly keep: (session: SessionID, name: string, text: string) => Effect.Effect<string | undefined>
}>() {
  /** Keeps texts for the life of the layer, under `memory:` paths. */
  static readonly layerMemory: Layer.Layer<Spill> = Layer.sync(Spill, () => {
    const kept = new Map<string, string>()
    return {
      keep: (session, name, text) =>
        Effect.sync(() => {
          const path = `memory:${session}/${name}`
          kept.set(path, text)
          return path
        })
    }
  })
}

/** A text truncated to a limit, in whole lines from its beginning, with a note on where the rest is. */
export const cut = Effect.fnUntraced(function*(
  session: SessionID,
  name: string,
  text: string,
  limit: { readonly bytes: number; readonly lines: number } = bound
) {
  const bytes = Buffer.byteLength(text)
  if (bytes <= limit.bytes && countLines(text) <= limit.lines) return text
  const spill = yield* Spill
  const path = yield* spill.keep(session, name, text)
  const head = headOf(text, limit)
  const rest = `${bytes} bytes, ${countLines(text)} lines in all`
  return `${head}\n\n[Cut here: ${rest}. ${
    path === undefined
      ? "The rest could not be kept: ask for less at once."
      : `The whole text is in ${path}; read it with offset and limit.`
  }]`
})

const countLines = (text: string): number => {
  let lines = 1
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++
  return lines
}

const headOf = (text: string, limit: { readonly bytes: number; readonly lines: number }): string => {
  let end = 0
  for (let line = 0; line < limit.lines; line++) {
    const next = text.indexOf("\n", end)
    if (next < 0) {
      end = text.length
      break
    }
    end = next + 1
  }
  const head = text.slice(0, end)
  if (Buffer.byteLength(head) <= limit.bytes) return head.trimEnd()
  const bytes = Buffer.from(head).subarray(0, limit.bytes)
  // Cutting inside a character leaves a replacement character at the end.
  return bytes.toString("utf8").replace(/\uFFFD+$/u, "")
}
