import { describe, expect, it } from "@effect/vitest"
import { Permission, type Subject } from "@skein/core/Permission"
import * as Skein from "@skein/core/Skein"
import type { PermissionAsk } from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import { type Action, fromConfig, type PermissionConfig } from "@skein/domain/Rule"
import { make } from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"

const id = "ses_1" as SessionID
const session = { id, rootID: id, depth: 0, projectID: "p", directory: "/p" }

const all = Skein.layer({ provider: make({}).layer })

/** The ask, parsed unless `exact` is absent. */
type Asked = Partial<Omit<PermissionAsk, "exact">> & { readonly exact?: ReadonlyArray<string> | "absent" }

/** The result of these rules, under this ceiling, for a call. */
const decided = ({ exact = [], ...ask }: Asked, rules: PermissionConfig, ceiling: PermissionConfig = {}) => {
  const whole: PermissionAsk = {
    permission: "bash",
    patterns: [],
    always: [],
    metadata: {},
    ...(exact === "absent" ? {} : { exact }),
    ...ask
  }
  const subject: Subject = {
    session,
    path: ["build"],
    mode: "ask",
    rules: fromConfig(rules),
    ceilings: [fromConfig(ceiling)]
  }
  return Effect.flatMap(
    Permission,
    ({ decide }) => decide(subject, { name: "bash", permission: "bash" }, whole)
  ).pipe(Effect.provide(all))
}

const table: ReadonlyArray<readonly [what: string, ask: Asked, rules: PermissionConfig, Action]> = [
  ["matched by a wildcard", { patterns: ["git log"] }, { bash: { "git *": "allow" } }, "allow"],
  ["that must be named in full", { patterns: ["a -x"], exact: ["a -x"] }, { bash: { "a *": "allow" } }, "ask"],
  ["that must be named in full, by `*`", { patterns: ["a -x"], exact: ["a -x"] }, "allow", "ask"],
  ["that is named in full", { patterns: ["a -x"], exact: ["a -x"] }, { bash: { "a -x": "allow" } }, "allow"],
  [
    "named in full before a wildcard",
    { patterns: ["a -x"], exact: ["a -x"] },
    { bash: { "a -x": "allow", "a *": "allow" } },
    "allow"
  ],
  [
    "under a wildcard that does not count",
    { patterns: ["a -x"], exact: ["a -x"] },
    { bash: { "*": "deny", "a *": "allow" } },
    "deny"
  ],
  ["denied by a wildcard", { patterns: ["a -x"], exact: ["a -x"] }, { bash: { "a *": "deny" } }, "deny"],
  ["next to one that is exact", { patterns: ["b", "a"], exact: ["a"] }, { bash: { b: "allow", "a*": "allow" } }, "ask"],
  [
    "of another permission, which wildcards may match",
    { permission: "edit", patterns: ["a"], exact: "absent" },
    { edit: "allow" },
    "allow"
  ],
  ["of a line that was not parsed", { patterns: ["ls"], exact: "absent" }, { bash: "allow" }, "ask"],
  ["of such a line, named in full", { patterns: ["ls"], exact: "absent" }, { bash: { ls: "allow" } }, "allow"],
  [
    "whose alternative is denied",
    { patterns: ["a"], also: ["x a"] },
    { bash: { "*": "allow", "x *": "deny" } },
    "deny"
  ],
  [
    "whose alternative needs a question",
    { patterns: ["a"], also: ["x a"] },
    { bash: { a: "allow", "x *": "ask" } },
    "ask"
  ],
  [
    "whose alternative is denied by a catch-all",
    { patterns: ["a"], also: ["x a"] },
    { bash: { "*": "deny", a: "allow" } },
    "allow"
  ],
  ["of which only the alternative is allowed", { patterns: ["a"], also: ["x a"] }, { bash: { "x a": "allow" } }, "ask"],
  ["that is unclear", { patterns: ["a"], unclear: true }, { bash: { "*": "allow", a: "allow" } }, "ask"],
  ["that is unclear and denied", { patterns: ["a"], unclear: true }, { bash: { a: "deny" } }, "deny"]
]

describe("a pattern", () => {
  it.effect.each(table)(
    "%s",
    ([, ask, rules, action]) => Effect.map(decided(ask, rules), (found) => expect(found).toBe(action))
  )

  it.effect("of bash is denied if edits are, unless it is known to read", () =>
    Effect.gen(function*() {
      const under = (ask: Asked) => decided(ask, "allow", { edit: "deny" })
      const reads = ["cat a"]
      expect(yield* under({ patterns: ["cat a", "ls -la"], reads })).toBe("allow")
      expect(yield* under({ patterns: ["cat a", "ls -la"] })).toBe("deny")
      expect(yield* under({ patterns: ["cat a", "make"], reads })).toBe("deny")
      expect(yield* under({ patterns: ["cat $a"], exact: ["cat $a"] })).toBe("deny")
      expect(yield* under({ patterns: ["cat a"], reads, unclear: true })).toBe("deny")
    }))
})
