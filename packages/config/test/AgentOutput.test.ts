import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import { agentsFrom } from "@skein/config/AgentsConfig"
import { describeConfig } from "@skein/config/ConfigDescription"
import { jsonSchema } from "@skein/config/ConfigSchema"
import { builtins } from "@skein/core/Agent"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { loadFiles, mistakes, told, userFile } from "./workspace.ts"

const file = "project/skein.json"
const output = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { file: { type: "string", default: { type: "no schema" } }, next: { $ref: "#/$defs/a~1b%20c" } },
  required: ["file"],
  $defs: { "a/b c": { anyOf: [{ type: ["integer", "null"] }, true, { $ref: "#" }] } }
}
const withOutput = (form: unknown) => ({ agent: { finder: { output: form } } })

layer(NodeFileSystem.layer)("the output of an agent", (it) => {
  it.scoped("is taken whole from the project's file, or the user's, and shown as one value", () =>
    Effect.gen(function*() {
      const user = { type: "object", properties: { other: { type: "string" } }, title: "The user's" }
      const loaded = yield* loadFiles({ [userFile]: withOutput(user), [file]: withOutput(output) })
      expect(loaded.warnings).toEqual([])
      const { agents } = Either.getOrThrow(agentsFrom(loaded.settings, builtins, loaded.origins))
      expect(agents.find(({ name }) => name === "finder")?.output).toEqual(output)
      const shown = describeConfig(loaded).rows.filter(({ path }) => path.startsWith("agent."))
      expect(shown).toEqual([{ path: "agent.finder.output", value: output, origin: `${loaded.root}/${file}:4` }])
    }))

  it.scoped.each<[string, string, ReadonlyArray<string>]>([
    ["a type that there is not", "{ \"type\": \"strng\" }", [
      "4:15 agent.finder.output.type must be \"object\", \"array\", \"string\", \"number\", \"integer\", \"boolean\", \"null\" or a list (each \"object\", \"array\", \"string\", \"number\", \"integer\", \"boolean\" or \"null\"), found \"strng\"; did you mean \"string\"?"
    ]],
    [
      "a misspelt keyword, deep inside",
      "{ \"type\": \"array\", \"items\": { \"anyOf\": [{ \"typ\": \"string\" }] } }",
      [
        "4:47 unknown key \"typ\" in agent.finder.output.items.anyOf.0; did you mean \"type\"?"
      ]
    ],
    ["a list of names that is none", "{ \"type\": \"object\", \"required\": \"file\" }", [
      "4:37 agent.finder.output.required must be a list (each a string), found \"file\""
    ]],
    ["a pattern that is none", "{ \"type\": \"string\", \"pattern\": \"(\" }", [
      "4:36 agent.finder.output.pattern must be a regular expression, found \"(\""
    ]],
    ["a text", "\"string\"", ["4:5 agent.finder.output must be an object, found \"string\""]],
    ["a reference to elsewhere", "{ \"$ref\": \"https://x.example\" }", [
      "4:15 agent.finder.output.$ref must be a place in this schema, such as \"#/$defs/name\", found \"https://x.example\""
    ]]
  ])("that is no JSON Schema is told of with file, line and column: %s", ([, form, expected]) =>
    Effect.map(
      mistakes({ [file]: `{"agent":\n{"finder":\n{"output":\n    ${form}\n}}}` }),
      (found) => expect(found).toEqual(expected.map((each) => `${file}:${each}`))
    ))

  it.scoped.each([
    ["a reference that leads nowhere", { $ref: "#/$defs/x" }, "\"#/$defs/x\" leads to no schema in it"],
    [
      "a reference to what is no schema",
      { type: "object", properties: { a: { $ref: "#/properties" } } },
      "\"#/properties\" leads to no schema in it"
    ],
    [
      "what does not say what a value is",
      { properties: {} },
      "it must say what a value is, with one of type, anyOf, oneOf, $ref"
    ]
  ])("is refused with file and line: %s", ([, form, fault]) =>
    Effect.gen(function*() {
      const { origins, root, settings } = yield* loadFiles({ [file]: withOutput(form) })
      const result = agentsFrom(settings, builtins, origins)
      expect(Either.isLeft(result) ? result.left.issues.map((issue) => told(root, issue)) : []).toEqual([
        `${file}:4 agent.finder.output: ${fault}`
      ])
    }))

  it.scoped("may hold no environment variables where a project sets it, for a model reads it", () =>
    Effect.map(
      mistakes({ [file]: withOutput({ type: "object", description: "{env:SECRET}" }) }, { env: { SECRET: "s" } }),
      (found) =>
        expect(found).toEqual([
          `${file}:6:24 {env:SECRET}: a project's file may not put environment variables into what a model reads`
        ])
    ))

  it.effect("is known to editors", () =>
    Effect.map(jsonSchema, (schema) => {
      const { $defs, properties } = schema as { $defs: object; properties: { agent: object } }
      expect($defs).toMatchObject({
        JsonSchema: { anyOf: [{ type: "boolean" }, { properties: { items: { anyOf: expect.any(Array) } } }] }
      })
      expect(JSON.stringify(properties.agent)).toContain("\"output\":")
    }))
})
