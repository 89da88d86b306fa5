/** What a command needs beyond the sandbox is asked for in one question, as far as one answer may cover it. */
import { describe, expect, it } from "@effect/vitest"
import { Permission, type Subject } from "@skein/core/Permission"
import type { PermissionAsk } from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import { fromConfig, type PermissionConfig, type Ruleset } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { confinedAsks, Grants, type Need } from "../src/internal/bash/confinedAsks.ts"
import { layerDecisions } from "./support/decisions.ts"

const id = "ses_1" as SessionID

const limits = { network: false, answers: true, sees: () => false, isPrivate: () => false }

const bash: PermissionAsk = {
  permission: "bash",
  patterns: ["npm install x"],
  exact: [],
  always: ["npm install *"],
  metadata: { command: "npm install x" }
}

/** The questions that a person who always agrees is asked: the permission, the reason, and what one answer covers. */
const questions = (
  needs: ReadonlyArray<Need>,
  rules: Exclude<PermissionConfig, string | Ruleset> = {},
  mode: Mode = "ask"
) =>
  Effect.gen(function*() {
    const { decide } = yield* Permission
    const subject: Subject = {
      session: { id, rootID: id, depth: 0, projectID: "p", directory: "/p" },
      path: ["build"],
      mode,
      rules: fromConfig({ "*": "ask", bash: "allow", ...rules }),
      ceilings: []
    }
    const grants = new Grants()
    const asked: Array<unknown> = []
    for (const ask of confinedAsks([bash], needs, limits, grants)) {
      const action = yield* decide(subject, { name: "bash", permission: "bash" }, ask)
      if (action === "deny") asked.push([ask.permission, "denied"])
      if (action !== "ask") continue
      asked.push([ask.permission, ask.metadata["reason"], ask.together])
      ask.allowed?.("person")
    }
    return { asked, has: needs.filter((need) => grants.has(need)) }
  }).pipe(Effect.provide(layerDecisions))

const changes = "It may change files of the project."
const network = "It may use the network."

describe("a command that needs more than the sandbox gives", () => {
  it.effect("asks for the network alone where a rule allows changes", () =>
    Effect.gen(function*() {
      expect(yield* questions(["write", "network"])).toEqual({
        asked: [["bash_network", network, []]],
        has: ["write", "network"]
      })
    }))

  it.effect("asks for credentials by themselves", () =>
    Effect.gen(function*() {
      const { asked } = yield* questions(["credentials", "network"])
      expect(asked).toEqual([["bash_network", network, []], ["bash_credentials", expect.any(String), []]])
    }))

  it.effect("is denied what a rule denies, whatever was answered before", () =>
    Effect.gen(function*() {
      const { asked, has } = yield* questions(["write", "network"], { bash_network: "deny" })
      expect(asked).toEqual([["bash_network", "denied"]])
      expect(has).toEqual(["write"])
    }))

  it.effect("covers both with one answer", () =>
    Effect.sync(() => {
      const grants = new Grants()
      const [first, write, more] = confinedAsks([bash], ["write", "network"], limits, grants)
      first?.allowed?.("sandbox")
      expect(write).toMatchObject({
        permission: "bash_write",
        metadata: { reason: `${changes} ${network}` },
        together: ["bash_network"]
      })
      expect([write?.needless?.(), more?.needless?.()]).toEqual([false, false])
      write?.allowed?.("rule")
      expect(more?.needless?.()).toBe(false)
      write?.allowed?.("person")
      expect(more?.needless?.()).toBe(true)
    }))
})
