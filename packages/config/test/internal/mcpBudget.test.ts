import { expect, it } from "vitest"
import { admit } from "../../src/internal/projectTrust.ts"
import { fromInfo } from "../../src/internal/sourced.ts"

const wideningsOf = (user: number | undefined, project: number) =>
  admit(
    { user: fromInfo(user === undefined ? {} : { mcp_budget: user }, { name: "user" }) },
    fromInfo({ mcp_budget: project }, { name: "project" })
  ).widenings.length

it("a project may lower the budget for tools of MCP servers, and not raise it", () => {
  expect([
    wideningsOf(undefined, 8_000),
    wideningsOf(undefined, 8_001),
    wideningsOf(100, 200),
    wideningsOf(9_000, 9_000)
  ])
    .toEqual([0, 1, 1, 0])
})
