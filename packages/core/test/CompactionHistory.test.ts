import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { ToolError } from "@skein/core/Tool"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds, share } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { PCGRandom } from "effect/Utils"
import { bounded, madeFor, readIn, within } from "./support/bounded.ts"
import { expectStill, messagesOf, root } from "./support/tree.ts"

const limit = { context: 9_000, output: 1_000 }

/** One session of a seed: prompts, answers and outputs of any length, and a model with a small context. */
const scene = (seed: number) => {
  const random = new PCGRandom(seed)
  const upTo = (most: number) => Math.floor(random.number() * (most + 1))
  const words = (most: number) => "€uro ".repeat(upTo(most))
  const tools = [
    SkeinTest.tool("read", () => Effect.succeed(words(1_200))),
    SkeinTest.tool("fail", () => Effect.fail(new ToolError({ kind: "failed", message: `no ${words(200)}` })))
  ]
  const step = (): Scripted.ScriptedStep => {
    const calls = Array.from({ length: upTo(4) }, (_, n) => ({
      tool: ["read", "fail", "read", "nothing"][upTo(3)] ?? "read",
      input: { n, seed: upTo(1_000_000) }
    }))
    return { text: `a${words(150)}`, ...(calls.length > 1 ? { calls } : {}) }
  }
  const script = Scripted.make({
    build: bounded(8_000, [...Array.from({ length: 40 }, step), "end"]),
    compaction: (request) => upTo(9) === 0 ? Scripted.fault("server") : within(8_000, request, `s${words(100)}`)
  }, { limit })
  return { script, tools, prompts: Array.from({ length: 12 }, () => `p${words(100)}`) }
}

describe("a request after a conversation was compacted", () => {
  it("is valid for a strict provider, whatever the history", () => {
    let compactions = 0
    let pruned = 0
    for (const seed of seeds(1, 30)) {
      const { prompts, script, tools } = scene(seed)
      const program = Effect.gen(function*() {
        const { id } = yield* root()
        // A strict provider's refusal would be a ModelError.
        for (const prompt of prompts) yield* Session.prompt(id, prompt)
        const all = yield* messagesOf(id)
        expect(all.filter(({ info }) => info.role === "user").length).toBeGreaterThanOrEqual(prompts.length)
        compactions += all.filter(({ parts }) => parts.some((part) => part.type === "compaction")).length
        yield* expectStill(id, script)
      })
      simulate(
        program.pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script, { tools, rules: { "*": "allow" } }))),
        {
          seed
        }
      )
      pruned += madeFor(script, "turn").filter((request) =>
        readIn(request).includes("was left out to save room")
      ).length
    }
    expect(compactions).toBeGreaterThan(share(30))
    expect(pruned).toBeGreaterThan(share(30))
  }, 60_000)
})
