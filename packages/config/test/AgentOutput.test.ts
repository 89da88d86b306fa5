import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import { agentsFrom } from "@skein/config/AgentsConfig"
import { describeConfig } from "@skein/config/ConfigDescription"
import { jsonSchema } from "@skein/config/ConfigSchema"
import { builtins } from "@skein/core/Agent"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { formatIssue, loadFiles, mistakes, userFile } from "./workspace.ts"

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
  it.scoped("is taken as a whole from the project's file, or the user's, and shown as one value", () =>
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
    ["an unknown type", "{ \"type\": \"strng\" }", [
      "4:15 agent.finder.output.type must be \"object\", \"array\", \"string\", \"number\", \"integer\", \"boolean\", \"null\" or a list (each \"object\", \"array\", \"string\", \"number\", \"integer\", \"boolean\" or \"null\"), found \"strng\"; did you mean \"string\"?"
    ]],
    [
      "a misspelt keyword, deep inside",
      "{ \"type\": \"array\", \"items\": { \"anyOf\": [{ \"typ\": \"string\" }] } }",
      [
        "4:47 unknown key \"typ\" in agent.finder.output.items.anyOf.0; did you mean \"type\"?"
      ]
    ],
    ["an invalid list of names", "{ \"type\": \"object\", \"required\": \"file\" }", [
      "4:37 agent.finder.output.required must be a list (each a string), found \"file\""
    ]],
    ["an invalid pattern", "{ \"type\": \"string\", \"pattern\": \"(\" }", [
      "4:36 agent.finder.output.pattern must be a regular expression, found \"(\""
    ]],
    ["a text", "\"string\"", ["4:5 agent.finder.output must be an object, found \"string\""]],
    ["a reference to elsewhere", "{ \"$ref\": \"https://x.example\" }", [
      "4:15 agent.finder.output.$ref must be a place in this schema, such as \"#/$defs/name\", found \"https://x.example\""
    ]]
  ])("that is not a JSON Schema is reported with file, line and column: %s", ([, form, expected]) =>
    Effect.map(
      mistakes({ [file]: `{"agent":\n{"finder":\n{"output":\n    ${form}\n}}}` }),
      (found) => expect(found).toEqual(expected.map((each) => `${file}:${each}`))
    ))

  it.scoped.each([
    ["a broken reference", { $ref: "#/$defs/x" }, "\"#/$defs/x\" does not refer to a schema in it"],
    [
      "a reference to something that is not a schema",
      { type: "object", properties: { a: { $ref: "#/properties" } } },
      "\"#/properties\" does not refer to a schema in it"
    ],
    [
      "a schema that describes no value",
      { properties: {} },
      "it must describe a value with one of type, anyOf, oneOf, $ref"
    ]
  ])("is refused with file and line: %s", ([, form, fault]) =>
    Effect.gen(function*() {
      const { origins, root, settings } = yield* loadFiles({ [file]: withOutput(form) })
      const result = agentsFrom(settings, builtins, origins)
      expect(Either.isLeft(result) ? result.left.issues.map((issue) => formatIssue(root, issue)) : []).toEqual([
        `${file}:4 agent.finder.output: ${fault}`
      ])
    }))

  it.scoped("may not contain environment variables in a project's file, because a model reads it", () =>
    Effect.map(
      mistakes({ [file]: withOutput({ type: "object", description: "{env:SECRET}" }) }, { env: { SECRET: "s" } }),
      (found) =>
        expect(found).toEqual([
          `${file}:6:24 {env:SECRET}: a project's file may not put environment variables into texts and names`
        ])
    ))

  it.effect("is described for editors", () =>
    Effect.map(jsonSchema, (schema) => {
      const { $defs, properties } = schema as { $defs: object; properties: { agent: object } }
      expect($defs).toMatchObject({
        JsonSchema: { anyOf: [{ type: "boolean" }, { properties: { items: { anyOf: expect.any(Array) } } }] }
      })
      expect(JSON.stringify(properties.agent)).toContain("\"output\":")
    }))
})
