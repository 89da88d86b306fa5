import { describe, expect, it } from "@effect/vitest"
import { Agent } from "@skein/core/Agent"
import { Permission, type Subject } from "@skein/core/Permission"
import * as Skein from "@skein/core/Skein"
import type { SessionID } from "@skein/domain/Id"
import type { Action } from "@skein/domain/Rule"
import { make } from "@skein/testing/ScriptedProvider"
import { agent } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"

const all = Skein.layer({ provider: make({}).layer })

/** The actions of a chain of agents, root first, for a call of the last one. */
const decided = Effect.fnUntraced(function*(path: ReadonlyArray<string>, permission: string, pattern: string) {
  const agents = yield* Agent
  const { decide } = yield* Permission
  const chain = yield* Effect.forEach(path, agents.get)
  const id = "ses_1" as SessionID
  const subject: Subject = {
    session: { id, rootID: id, depth: path.length - 1, projectID: "p", directory: "/work" },
    path,
    mode: "ask",
    rules: agents.rules(chain.at(-1)!),
    ceilings: chain.map(agents.ceiling)
  }
  return yield* decide(subject, { name: permission, permission }, {
    permission,
    patterns: [pattern],
    // What the tool says of commands that it knows.
    reads: /^(?:cat|grep|head|ls|pwd)\b/.test(pattern) ? [pattern] : [],
    exact: [],
    always: [],
    metadata: {}
  })
})

const table: ReadonlyArray<readonly [path: string, permission: string, pattern: string, action: Action]> = [
  ["build", "read", "src/a.ts", "allow"],
  ["build", "read", ".env", "ask"],
  ["build", "read", "api/.env.local", "ask"],
  ["build", "read", ".env.example", "allow"],
  ["build", "glob", "**/*", "allow"],
  ["build", "grep", "x", "allow"],
  ["build", "list", ".", "allow"],
  ["build", "task", "explore", "allow"],
  ["build", "todowrite", "*", "allow"],
  ["build", "skill", "x", "allow"],
  ["build", "question", "*", "allow"],
  ["build", "edit", "src/a.ts", "ask"],
  ["build", "bash", "rm -rf x", "ask"],
  ["build", "bash", "ls -la", "allow"],
  ["build", "bash", "grep -n a src/a.ts", "allow"],
  ["build", "bash", "git status", "ask"],
  ["build", "webfetch", "https://example.com/", "ask"],
  ["build", "external_directory", "/etc", "ask"],
  ["build", "doom_loop", "read", "ask"],
  ["build", "what_there_is_not", "*", "ask"],
  ["plan", "edit", "src/a.ts", "deny"],
  ["plan", "edit", ".skein/plans/next.md", "allow"],
  ["plan", "bash", "make", "deny"],
  ["plan", "bash", "pwd", "allow"],
  ["plan", "bash", "cat src/a.ts", "allow"],
  ["plan/general", "edit", "src/a.ts", "deny"],
  ["plan/general", "bash", "make", "deny"],
  ["coordinator", "edit", "src/a.ts", "deny"],
  ["coordinator", "bash", "ls", "deny"],
  ["coordinator", "grep", "x", "deny"],
  ["coordinator", "read", "src/a.ts", "allow"],
  ["coordinator", "task", "general", "allow"],
  ["coordinator/general", "edit", "src/a.ts", "ask"],
  ["coordinator/general", "bash", "make", "ask"],
  ["explore", "read", "src/a.ts", "allow"],
  ["explore", "read", ".env", "ask"],
  ["explore", "grep", "x", "allow"],
  ["explore", "edit", "src/a.ts", "deny"],
  ["explore", "bash", "make", "deny"],
  ["explore", "bash", "git status", "deny"],
  ["explore", "bash", "pwd", "allow"],
  ["explore", "bash", "head -5 src/a.ts", "allow"],
  ["explore", "webfetch", "https://example.com/", "deny"],
  ["build/explore", "edit", "src/a.ts", "deny"],
  ["explore/general", "bash", "make", "deny"]
]

describe("the built-in agents", () => {
  it.effect("are complete, and each has its mode", () =>
    Effect.map(
      Agent,
      (agents) =>
        expect(agents.all.map(({ hidden, mode, name }) => `${name} ${hidden ? "hidden" : mode}`)).toEqual([
          "build primary",
          "compaction hidden",
          "coordinator primary",
          "explore subagent",
          "general subagent",
          "plan primary",
          "summary hidden",
          "title hidden"
        ])
    ).pipe(Effect.provide(all)))

  it.effect.each(table)(
    "%s: %s %s is %s",
    ([path, permission, pattern, action]) =>
      Effect.map(decided(path.split("/"), permission, pattern), (found) => expect(found).toBe(action)).pipe(
        Effect.provide(all)
      )
  )

  it.effect.each(["ask", "allow"] as const)(
    "deny what their definition denies, even under rules for all agents: %s",
    (action) =>
      Effect.gen(function*() {
        for (const [path, permission, pattern, said] of table) {
          if (said === "deny") expect(yield* decided(path.split("/"), permission, pattern), path).toBe("deny")
        }
      }).pipe(Effect.provide(Skein.layer({
        provider: make({}).layer,
        agents: Agent.layerWith([], [
          { permission: "*", pattern: "*", action },
          { permission: "edit", pattern: "*", action },
          { permission: "bash", pattern: "*", action }
        ])
      })))
  )
})

describe("agents", () => {
  it.effect("are replaced by configured agents of the same name, under the rules for all", () =>
    Effect.gen(function*() {
      const agents = yield* Agent
      const explore = yield* agents.get("explore")
      expect(explore.origin).toBe("test")
      expect(agents.rules(explore).slice(-2)).toEqual([
        { permission: "webfetch", pattern: "*", action: "deny" },
        { permission: "webfetch", pattern: "https://a.test/*", action: "allow" }
      ])
    }).pipe(
      Effect.provide(
        Agent.layerWith(
          [agent("explore", { permission: { webfetch: { "https://a.test/*": "allow" } } })],
          [{ permission: "webfetch", pattern: "*", action: "deny" }]
        )
      )
    ))

  it.effect("that do not exist are refused with the list of agents, which omits hidden ones", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(Effect.flatMap(Agent, (agents) => agents.get("biuld")))
      expect(message).toBe(
        "There is no agent \"biuld\". Did you mean build? Agents: build, coordinator, explore, general, plan. See `skein agents`."
      )
    }).pipe(Effect.provide(all)))
})
