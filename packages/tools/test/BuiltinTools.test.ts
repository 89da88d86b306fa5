import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as JSONSchema from "effect/JSONSchema"
import { Workspace } from "./workspace.ts"

describe("BuiltinTools", () => {
  it.effect("declare name, permission and effect, and describe themselves and each of their arguments", () =>
    Effect.gen(function*() {
      const { context, tools } = yield* Workspace
      expect([...tools.values()].map(({ effect, name, permission }) => `${name} ${permission} ${effect}`).toSorted())
        .toEqual([
          "bash bash never",
          "edit edit verify",
          "glob glob safe",
          "grep grep safe",
          "list list safe",
          "patch edit verify",
          "question question safe",
          "read read safe",
          "skill skill safe",
          "todoread todoread safe",
          "todowrite todowrite safe",
          "webfetch webfetch safe",
          "write edit verify"
        ])
      for (const tool of tools.values()) {
        // The same words for each caller, so that they are made once; but for tools that are not offered everywhere.
        if (tool.name === "question" || tool.name === "skill") {
          expect(typeof tool.describe === "string" || (yield* tool.describe(context()))).toBeUndefined()
        } else expect(tool.describe, tool.name).toMatch(/^.{20}/)
        const schema = JSONSchema.make(tool.parameters) as unknown as {
          readonly properties: Record<
            string,
            { readonly description: string; readonly anyOf?: ReadonlyArray<object> }
          >
        }
        // What models take: an object, and no reference where a description stands beside it.
        expect(schema, tool.name).toMatchObject({ type: "object", additionalProperties: false })
        for (const [name, property] of Object.entries(schema.properties)) {
          expect(property, `${tool.name}.${name}`).toMatchObject({ description: expect.stringMatching(/^.{10}/) })
          // One type, or several of which each is named: a duration is a number or a text.
          for (const form of property.anyOf ?? [property]) {
            expect(form, `${tool.name}.${name}`).toMatchObject({ type: expect.any(String) })
          }
        }
      }
    }).pipe(Effect.provide(Workspace.layer)))
})
