import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { ToolError } from "@skein/core/Tool"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { callsMade, root } from "./support/tree.ts"

const fine = SkeinTest.tool("fine", () => Effect.succeed("ok"))
const throws = {
  toJSON: () => {
    throw new Error("no")
  }
}

for (const [what, metadata] of [["a big integer", { n: 10n }], ["a toJSON that throws", { throws }]] as const) {
  for (const end of ["result", "failure"] as const) {
    it.effect(`makes a ${end} with ${what} in its metadata an error of that call, and continues`, () => {
      const base = SkeinTest.tool("odd", () => Effect.succeed(""))
      const odd = {
        ...base,
        execute: () =>
          end === "result"
            ? Effect.succeed({ title: "odd", output: "out", metadata })
            : Effect.fail(new ToolError({ kind: "odd", message: "It went wrong.", metadata }))
      }
      const script = Scripted.make({
        build: [{ calls: [{ tool: "odd", input: {} }, { tool: "fine", input: {} }] }, "the end"]
      })
      return Effect.gen(function*() {
        const { id } = yield* root()
        expect((yield* Session.prompt(id, "Go")).text).toBe("the end")
        const [first, second] = yield* callsMade(id)
        expect(first?.state).toMatchObject({
          status: "error",
          error: {
            message: expect.stringMatching(
              end === "result" ? /^The call was made.*metadata has no JSON/ : /^It went wrong.*metadata has no JSON/s
            )
          }
        })
        expect(() => JSON.stringify(first)).not.toThrow()
        expect(second?.state).toMatchObject({ status: "completed", output: "ok" })
      }).pipe(Effect.provide(SkeinTest.layer(script, { tools: [odd, fine] })))
    })
  }
}
