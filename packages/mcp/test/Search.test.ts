/** Tools beyond the budget: searched for, called by way of `mcp_call`, and under the same rules as any other. */
import { describe, expect, it } from "@effect/vitest"
import { on } from "@skein/core/Hooks"
import { type AnyTool, define } from "@skein/core/Tool"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { rank, splitTools } from "../src/internal/searchTools.ts"
import { fake, open } from "./support/host.ts"
import { namesOf, turn } from "./support/turn.ts"

const servers = {
  big: { command: fake("many"), startup_timeout: 60_000 },
  fine: { command: fake("fine"), startup_timeout: 60_000 }
}

const search = Scripted.call("mcp_search", { query: "order a pizza" })
const order = Scripted.call("mcp_call", { tool: "mcp_big_tool_137", arguments: { words: "two" } })

describe("tools beyond the budget", () => {
  it.scopedLive("are found by what they do, and called", () =>
    Effect.gen(function*() {
      const { offered, requests, told } = yield* turn(yield* open(servers), [search, order])
      expect(offered).toEqual(Array.from({ length: 3 }, () => ["mcp_call", "mcp_fine_echo", "mcp_search"]))
      expect(String(told[0])).toMatch(/^Call these with mcp_call\.\n\nmcp_big_tool_137\nOrders a pizza\. /)
      expect(told[0]).toContain("{\"properties\":{\"words\":{\"type\":\"string\"}},\"type\":\"object\"}")
      expect(told[1]).toBe("told: two (call)")
      // What stands at the beginning of each request stays the same, so that a provider can keep it.
      expect(new Set(requests.map(({ tools }) => JSON.stringify(tools))).size).toBe(1)
      expect(requests[0]?.tools.find(({ name }) => name === "mcp_search")?.description).toContain("big (200 tools)")
    }))

  it.scopedLive("are called under the rules for the tool itself", () =>
    Effect.gen(function*() {
      const denied = yield* turn(yield* open(servers), [order], {
        rules: { "mcp_*": "allow", mcp_big_tool_137: "deny" }
      })
      expect(denied.told).toEqual([expect.stringContaining("denied")])
      const asked = yield* turn(yield* open(servers), [order], { rules: {} })
      expect(asked.told).toEqual([expect.stringContaining("denied")])
      const allowed = yield* turn(yield* open(servers), [order], { rules: { mcp_big_tool_137: "allow" } })
      expect(allowed.told).toEqual(["told: two (call)"])
    }))

  it.scopedLive("are what hooks see, block and change, and not the tool that calls them", () =>
    Effect.gen(function*() {
      const named = { name: "guard", matcher: "mcp_big_*" }
      const blocking = on("PreToolUse", () => Effect.succeed({ decision: "deny", reason: "no pizza" } as const), named)
      const blocked = yield* turn(yield* open(servers), [order], { hooks: [blocking] })
      expect(blocked.told).toEqual([expect.stringContaining("no pizza")])
      const seen: Array<unknown> = []
      const hooks = [
        on("PreToolUse", ({ input, tool }) =>
          Effect.sync(() => {
            seen.push([tool, input])
            return { input: { words: "three" } }
          }), named),
        on("PostToolUse", ({ input, tool }) => Effect.sync(() => void seen.push([tool, input])), named)
      ]
      const { told } = yield* turn(yield* open(servers), [order], { hooks })
      expect(told).toEqual(["told: three (call)"])
      expect(seen).toEqual([["mcp_big_tool_137", { words: "two" }], ["mcp_big_tool_137", { words: "three" }]])
    }))

  it.scopedLive("change no file where edits are denied", () =>
    Effect.gen(function*() {
      const plan = { agents: [SkeinTest.agent("plan", { mode: "primary", permission: { edit: "deny" } })] }
      const { told } = yield* turn(yield* open(servers), [order], plan)
      expect(told).toEqual([expect.stringContaining("edits are denied here")])
    }))

  it.scopedLive("are checked before they are called, and named as they are", () =>
    Effect.gen(function*() {
      const { told } = yield* turn(yield* open(servers), [
        Scripted.call("mcp_call", { tool: "mcp_big_tool_13", arguments: [] }),
        Scripted.call("mcp_call", { tool: "mcp_big_tol_137" }),
        Scripted.call("mcp_search", { query: "xylophone" })
      ])
      expect(told[0]).toContain("invalid arguments for mcp_call")
      expect(told[1]).toContain("Did you mean mcp_big_tool_137?")
      expect(told[2]).toContain("No matches. The tools are mcp_big_tool_0, ")
    }))

  it.scopedLive("are shown in full where the budget is large enough, and none is with a budget of 0", () =>
    Effect.gen(function*() {
      const all = yield* open(servers, undefined, 1_000_000)
      yield* all.ready
      expect(namesOf(all)).toHaveLength(201)
      const none = yield* open(servers, undefined, 0)
      yield* none.ready
      expect(namesOf(none)).toEqual(["mcp_call", "mcp_search"])
    }))
})

const tool = (server: string, name: string, describe = "x".repeat(400)) => ({
  server,
  tool: define({
    name: `mcp_${server}_${name}`,
    describe,
    parameters: Schema.Struct({}),
    inputSchema: { type: "object", properties: { repository: {} } },
    effect: "never",
    title: () => name,
    authorise: () => Effect.succeed([]),
    execute: () => Effect.dieMessage("not called")
  }) as AnyTool
})

it("a server is shown whole or not at all, the smallest first, in whatever order they answer", () => {
  const tools = [tool("a", "1"), tool("a", "2"), tool("b", "1"), tool("c", "1"), tool("c", "2"), tool("c", "3")]
  for (const each of [tools, tools.toReversed()]) {
    const { searched, shown } = splitTools(each, 500)
    expect(new Set(shown.map(({ server }) => server))).toEqual(new Set(["a", "b"]))
    expect(new Set(searched.map(({ server }) => server))).toEqual(new Set(["c"]))
  }
})

it("names count more than descriptions, and parts of names are words", () => {
  const tools = [
    tool("git", "list_issues", "Lists."),
    tool("git", "createIssue", "Makes one."),
    tool("git", "other", "Creates an issue."),
    tool("git", "none", "Nothing.")
  ]
  const found = (query: string) => rank(tools, query).map(({ tool: { name } }) => name)
  expect(found("create issue")).toEqual(["mcp_git_createIssue", "mcp_git_list_issues", "mcp_git_other"])
  expect(found("mcp_git_none")[0]).toBe("mcp_git_none")
  expect(found("repository")).toHaveLength(4)
  expect(found("zebra")).toEqual([])
})
