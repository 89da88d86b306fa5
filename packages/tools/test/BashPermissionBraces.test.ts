import { describe, expect, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { describeDecisions } from "./support/bashClasses.ts"
import { decided, layerDecisions } from "./support/decisions.ts"
import { Workspace } from "./workspace.ts"

const long: ReadonlyArray<string> = [
  `echo ${"{a,b}".repeat(20)}`,
  `echo ${"{a,b}".repeat(5_000)}`,
  "echo {1..1000000}",
  "echo {1..300}{1..300}",
  "echo {1..9000} {1..9000}",
  `echo {1..5000}${"a".repeat(500)}`,
  `echo {a,${"{b,c}".repeat(20)}}`,
  `ls $(echo ${"{a,b}".repeat(20)})`,
  "for i in {1..99999}; do ls; done",
  "a=({1..99999}); ls",
  `cat < ${"{a,b}".repeat(20)}`
]

describeDecisions("braces that stand for very many words", "ask", long)

describe("braces that stand for very many words", () => {
  layer(layerDecisions)((it) => {
    it.effect.each(long.map((line) => [line] as const))(
      "are asked for whatever rules allow: %j",
      ([line]) =>
        Effect.map(
          decided(line, { "*": "allow", bash: { "*": "allow", "echo *": "allow" } }),
          (decision) => expect(decision).toBe("ask")
        )
    )
  })

  it.effect("say so", () =>
    Effect.gen(function*() {
      const { asks } = yield* Workspace
      const [ask] = yield* asks("bash", { command: "echo {1..1000000}" })
      expect(ask?.metadata["reasons"]).toContain(
        "Its braces stand for more than 10,000 words or 1,000,000 characters."
      )
    }).pipe(Effect.provide(Workspace.layer)))
})

describeDecisions("braces that stand for some words", "allow", [
  "echo {a,b}{c,d} {1..100}",
  "echo '{1..1000000}' \"{1..1000000}\" \\{1..1000000}",
  "echo {} a{b}c {a"
])
