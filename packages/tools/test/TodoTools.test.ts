import { describe, expect, it } from "@effect/vitest"
import type { AnyTool } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { Workspace } from "./workspace.ts"

describe("todowrite and todoread", () => {
  it.effect("take what they declare, and nothing else", () =>
    Effect.gen(function*() {
      const { tools } = yield* Workspace
      const takes = (name: string, input: unknown) => {
        const tool = tools.get(name) as AnyTool
        return Either.isRight(Schema.decodeUnknownEither(tool.parameters)(input, { onExcessProperty: "error" }))
      }
      expect([{}, [], "text", null, { x: 1 }].map((input) => takes("todoread", input))).toEqual([
        true,
        false,
        false,
        false,
        false
      ])
      const todo = { content: "a", status: "pending", priority: "low" }
      expect([[todo], [{ ...todo, status: "done" }], [{ ...todo, content: "" }], {}].map((todos) =>
        takes("todowrite", { todos })
      ))
        .toEqual([true, false, false, false])
    }).pipe(Effect.provide(Workspace.layer)))

  it.effect("keep the todos of each session apart", () =>
    Effect.gen(function*() {
      const { asks, call } = yield* Workspace
      const todos = [
        { content: "look", status: "completed", priority: "high" },
        { content: "change", status: "in_progress", priority: "medium" },
        { content: "test", status: "pending", priority: "low" }
      ]
      expect((yield* call("todoread", {})).output).toBe("There are no todos.")
      const written = yield* call("todowrite", { todos })
      expect(written).toMatchObject({
        title: "2 of 3 todos open",
        output: "[x] look (high)\n[>] change (medium)\n[ ] test (low)",
        metadata: { todos }
      })
      expect((yield* call("todoread", {})).output).toBe(written.output)
      expect((yield* call("todoread", {}, { sessionID: "ses_other" as never })).output).toBe("There are no todos.")
      expect(yield* asks("todoread", {})).toMatchObject([{ permission: "todoread" }])
      expect(yield* asks("todowrite", { todos })).toMatchObject([{ permission: "todowrite" }])
    }).pipe(Effect.provide(Workspace.layer)))
})
