/** Commands where edits are denied above: what cannot be kept from writing must be known to read, what can goes by the rules. */
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { define } from "@skein/core/Tool"
import { fromConfig, type Ruleset } from "@skein/domain/Rule"
import { call, make, tasks } from "@skein/testing/ScriptedProvider"
import { agent, layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { callsMade, childrenOf, root, said } from "./support/tree.ts"

/** A shell that only says what it would run, and whether it may change files. */
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

const told = (by: string, confined: boolean, permission: Ruleset = []) =>
  Effect.gen(function*() {
    const { id } = yield* root({ agent: by, permission })
    yield* Session.prompt(id, "Go")
    const below = yield* childrenOf(id)
    return yield* Effect.forEach(below, (child) => Effect.map(callsMade(child.id), (made) => made.map(said)))
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

const denied = expect.stringContaining("a rule forbids")

it.effect("a child below may run what its rules allow, where the command is kept from changing files", () =>
  Effect.gen(function*() {
    expect(yield* told("careful", true)).toEqual([["make all: reads", "ls: reads", denied]])
  }))

it.effect("a child below runs nothing but what is known to read, where a command cannot be kept from anything", () =>
  Effect.gen(function*() {
    expect(yield* told("careful", false)).toEqual([[denied, "ls: reads", denied]])
  }))

it.effect("a ceiling that is declared to be empty lets commands below write", () =>
  Effect.gen(function*() {
    expect(yield* told("open", false)).toEqual([["make all: writes", "ls: writes", denied]])
  }))

it.effect("a ceiling of the session counts as that of an agent", () =>
  Effect.gen(function*() {
    expect(yield* told("open", true, fromConfig({ edit: "deny" }))).toEqual([["make all: reads", "ls: reads", denied]])
  }))
