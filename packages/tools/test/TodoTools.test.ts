import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Workspace } from "./workspace.ts"

describe("todowrite and todoread", () => {
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
