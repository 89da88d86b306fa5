/** Commands where edits are denied above: without a sandbox only known readers run; in one, the rules decide. */
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { define } from "@skein/core/Tool"
import { fromConfig, type Ruleset } from "@skein/domain/Rule"
import { call, make, tasks } from "@skein/testing/ScriptedProvider"
import { agent, layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { callsMade, childrenOf, resultOf, root } from "./support/tree.ts"

/** A shell that reports what it would run, and whether that may change files. */
const shell = (confined: boolean) =>
  define({
    name: "bash",
    describe: "Runs a command.",
    parameters: Schema.Struct({ command: Schema.String }),
    effect: "never",
    title: ({ command }) => command,
    authorise: ({ command }) =>
      Effect.succeed([{ permission: "bash", patterns: [command], always: [], exact: [], metadata: {}, confined }]),
    execute: ({ command }, { readsOnly }) =>
      Effect.succeed({ title: command, output: `${command}: ${readsOnly ? "reads" : "writes"}`, metadata: {} })
  })

const commands = call("bash", { command: "make all" }, { command: "ls" }, { command: "rm -r src" })

const rules = { bash: { "make *": "allow", "rm *": "deny" } } as const

const results = (by: string, confined: boolean, permission: Ruleset = []) =>
  Effect.gen(function*() {
    const { id } = yield* root({ agent: by, permission })
    yield* Session.prompt(id, "Go")
    const below = yield* childrenOf(id)
    return yield* Effect.forEach(below, (child) => Effect.map(callsMade(child.id), (made) => made.map(resultOf)))
  }).pipe(
    Effect.provide(
      layer(make({ [by]: [tasks({ worker: "p" }), "Done"], worker: [commands, "Done"] }), {
        tools: [shell(confined)],
        agents: [
          agent("careful", { mode: "primary", permission: { edit: "deny", task: "allow" } }),
          agent("open", { mode: "primary", permission: { edit: "deny", task: "allow" }, ceiling: {} }),
          agent("worker")
        ],
        rules
      })
    )
  )

const denied = expect.stringMatching(/(?:a rule|plan mode) forbids/)

it.effect("a child may run what its rules allow, if the command cannot change files", () =>
  Effect.gen(function*() {
    expect(yield* results("careful", true)).toEqual([["make all: reads", "ls: reads", denied]])
  }))

it.effect("a child may run only commands that are known to read, without a sandbox", () =>
  Effect.gen(function*() {
    expect(yield* results("careful", false)).toEqual([[denied, "ls: reads", denied]])
  }))

it.effect("an empty declared ceiling lets commands below write", () =>
  Effect.gen(function*() {
    expect(yield* results("open", false)).toEqual([["make all: writes", "ls: writes", denied]])
  }))

it.effect("a ceiling of the session counts like that of an agent", () =>
  Effect.gen(function*() {
    expect(yield* results("open", true, fromConfig({ edit: "deny" }))).toEqual([[
      "make all: reads",
      "ls: reads",
      denied
    ]])
  }))
