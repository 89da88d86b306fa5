import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { bound, cut, Spill } from "@skein/core/Spill"
import { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { callsMade, resultOf, root } from "./support/tree.ts"

const id = SessionID.make("ses_1")

/** A spill that records what it keeps; without a path it can keep nothing. */
const noting = (path?: string) => {
  const kept: Array<string> = []
  const layer = Layer.succeed(Spill, { keep: (_, __, text) => Effect.sync(() => (kept.push(text), path)) })
  return { kept, layer }
}

const small = { bytes: 100, lines: 5 }
const bodyOf = (text: string) => text.replace(/\n\n\[Cut here: [^\n]*\]$/, "")

describe("a long text", () => {
  it("is cut at whole lines within the limit, and kept in full", () => {
    const line = FastCheck.string({ unit: "binary", maxLength: 40 }).map((words) => words.replaceAll("\n", ""))
    FastCheck.assert(FastCheck.property(FastCheck.array(line, { maxLength: 12 }), (lines) => {
      const text = lines.join("\n")
      const { kept, layer } = noting("/the/path")
      const shown = Effect.runSync(Effect.provide(cut(id, "x.txt", text, small), layer))
      if (Buffer.byteLength(text) <= small.bytes && lines.length <= small.lines) {
        expect(shown).toBe(text)
        expect(kept).toEqual([])
        return
      }
      expect(kept).toEqual([text])
      const body = bodyOf(shown)
      expect(shown).toContain(`${Buffer.byteLength(text)} bytes, ${Math.max(1, lines.length)} lines in all`)
      expect(shown).toContain("/the/path")
      expect(text.startsWith(body)).toBe(true)
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(small.bytes)
      expect(body.split("\n").length).toBeLessThanOrEqual(small.lines)
    }))
  })

  it("says so if it could not be kept", () => {
    const shown = Effect.runSync(Effect.provide(cut(id, "x.txt", "a\n".repeat(9), small), noting().layer))
    expect(shown).toBe(
      "a\na\na\na\na\n\n[Cut here: 18 bytes, 10 lines in all. The rest could not be kept: ask for less at once.]"
    )
  })

  it.effect("of a tool reaches the model truncated, with the path to the rest", () => {
    const long = SkeinTest.tool("long", () => Effect.succeed("line\n".repeat(20_000)))
    return Effect.gen(function*() {
      const { id: rootID } = yield* root()
      yield* Session.prompt(rootID, "Go")
      const [part] = yield* callsMade(rootID)
      expect(resultOf(part!)).toContain(`whole text is in memory:${rootID}/${part?.id}.txt`)
      expect(bodyOf(resultOf(part!)).split("\n")).toHaveLength(bound.lines)
    }).pipe(Effect.provide(SkeinTest.layer({ build: [Scripted.call("long", {}), "ok"] }, { tools: [long] })))
  })
})
