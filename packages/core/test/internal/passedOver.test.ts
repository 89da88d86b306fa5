import type { SessionID } from "@skein/domain/Id"
import { fromConfig } from "@skein/domain/Rule"
import { expect, it } from "vitest"
import { passedOver } from "../../src/internal/permission/verdict.ts"
import type { Subject } from "../../src/Subject.ts"
import type { PermissionAsk } from "../../src/Tool.ts"

const id = "ses_1" as SessionID

const subject: Subject = {
  session: { id, rootID: id, depth: 0, projectID: "p", directory: "/p" },
  path: ["build"],
  rules: fromConfig({ bash: { "*": "ask", "npx *": "allow", "npx tsc *": "allow", "curl *": "allow" } }),
  ceilings: [],
  mode: "ask"
}

const why = (pattern: string, beginning?: string) => {
  const beginnings = beginning === undefined ? {} : { [pattern]: beginning }
  const ask: PermissionAsk = {
    permission: "bash",
    patterns: [pattern],
    exact: [pattern],
    beginnings,
    always: [],
    metadata: {}
  }
  return passedOver(subject, ask)
}

it("a question names the rule that seems to allow the call, and what a rule would need", () => {
  expect(why("npx vitest run", "npx vitest")).toEqual([
    "The rule \"npx *\" does not allow this: that takes a rule that begins with \"npx vitest\"."
  ])
  expect(why("curl -o x y")).toEqual([
    "The rule \"curl *\" does not allow this: that takes a rule that names it in full."
  ])
})

it("nothing is said if no rule seems to allow the call, or one does", () => {
  expect(why("make -f x")).toEqual([])
  expect(why("npx tsc --noEmit", "npx tsc")).toEqual([])
})
