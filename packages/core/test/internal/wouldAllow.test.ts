import type { SessionID } from "@skein/domain/Id"
import { fromConfig } from "@skein/domain/Rule"
import { expect, it } from "vitest"
import { wouldAllow } from "../../src/internal/permission/verdict.ts"
import type { Subject } from "../../src/Ruleset.ts"
import type { PermissionAsk } from "../../src/Tool.ts"

const id = "ses_1" as SessionID

const subject: Subject = {
  session: { id, rootID: id, depth: 0, projectID: "p", directory: "/p" },
  path: ["build"],
  rules: fromConfig({ bash: { "*": "ask", "npx *": "allow", "npx tsc *": "allow", "curl *": "allow" } }),
  ceilings: [],
  mode: "ask"
}

const why = (pattern: string, beginning?: string, more: Partial<PermissionAsk> = {}) => {
  const beginnings = beginning === undefined ? {} : { [pattern]: beginning }
  const ask: PermissionAsk = {
    permission: "bash",
    patterns: [pattern],
    exact: [pattern],
    beginnings,
    always: [],
    metadata: {},
    ...more
  }
  return wouldAllow(subject, ask)
}

it("a question names the rule that seems to allow the call, and what a rule would need", () => {
  expect(why("npx vitest run", "npx vitest")).toEqual([
    "The rule \"npx *\" does not allow this: that takes a rule that begins with \"npx vitest\"."
  ])
  expect(why("curl -o x y")).toEqual([
    "The rule \"curl *\" does not allow this: that takes a rule that names it in full."
  ])
})

it("a question that just any rule cannot lift names the rule that can", () => {
  expect(why("make -f x")).toEqual(["To allow it, you need a rule that names it in full."])
  expect(why("node --test test/", "node --test", { ordinary: ["node --test test/"] })).toEqual([
    "To allow it, you need a rule \"node *\", or one that begins with \"node --test\"."
  ])
  expect(why("$x", undefined, { unclear: true })).toEqual(["No rule can allow this line as it is written."])
})

it("nothing is said where any rule can allow the call, or one does", () => {
  expect(why("make x", undefined, { exact: [] })).toEqual([])
  expect(why("npx tsc --noEmit", "npx tsc")).toEqual([])
})
