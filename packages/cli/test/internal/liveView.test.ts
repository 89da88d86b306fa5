/** What stays to be read of questions. */
import type { Event } from "@skein/domain/Event"
import type { PermissionID, SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import { LiveView } from "@skein/tui/LiveView"
import { colourless } from "@skein/tui/Style"
import { expect, it } from "vitest"
import { closingLines } from "../../src/internal/run/closing.ts"
import { Denials } from "../../src/internal/run/progress.ts"
import type { RunResult } from "../../src/internal/run/result.ts"

const permission = (id: string) => ({
  id: id as PermissionID,
  sessionID: "ses_2" as SessionID,
  rootID: "ses_1" as SessionID,
  path: ["build", "general"],
  permission: "edit",
  patterns: ["a.txt"],
  always: ["*"],
  metadata: {}
})

const world = () => {
  const session = { id: "ses_1", agent: "build", title: "t", usage: { own: none, subtree: none } } as SessionInfo
  const view = new LiveView(session, 0, { style: colourless, colors: new Map(), hasKeys: true })
  const denials = new Denials()
  const tell = (type: string, properties: object) => {
    const event = { type, sessionID: "ses_1", timestamp: 0, depth: 0, properties } as unknown as Event
    denials.see(event)
    view.see(event)
  }
  const draw = (steady: number) => view.view({ columns: 80, rows: 40 }, { now: 0, steady }).above
  return { view, denials, draw, tell, ask: (id: string) => tell("permission.asked", permission(id)) }
}

it("an always counts the waiting calls that it lets go on, in one line", () => {
  const { ask, draw, tell } = world()
  for (let i = 0; i < 8; i++) ask(`per_${i}`)
  draw(0)
  tell("permission.replied", { id: "per_0", reply: "always", scope: "tree" })
  expect(draw(100)).toEqual(["? build > general: edit a.txt", "  → always in this tree"])
  for (let i = 1; i < 8; i++) {
    tell("permission.replied", { id: `per_${i}`, reply: "once" })
    expect(draw(100 + i * 100)).toEqual([])
  }
  expect(draw(2_000)).toEqual(["always: also lets 7 waiting calls go on"])
  expect(draw(4_000)).toEqual([])
})

it("a question whose call was stopped is not told as a refusal", () => {
  const { ask, denials, draw, tell, view } = world()
  ask("per_0")
  ask("per_1")
  draw(0)
  for (const id of ["per_0", "per_1"]) {
    tell("permission.replied", { id, reply: "reject", message: "Stopped.", withdrawn: true })
  }
  expect(view.finish()).toEqual(["? build > general: edit a.txt", "  → stopped, not answered"])
  expect(denials.count).toBe(0)
})

it("a person who said no is told that this ended the turn", () => {
  const { ask, denials, tell } = world()
  for (const id of ["per_0", "per_1"]) {
    ask(id)
    tell("permission.replied", { id, reply: "reject" })
  }
  const result = { outcome: "denied", sessionID: "ses_1", error: { tag: "denied", message: "x" } } as RunResult
  const asked = { auto: false, canAsk: true, onTerminal: true, readerIsGone: false, way: " --db 'my db'" }
  expect(closingLines(result, denials, asked)).toEqual([
    "skein: You said no to 2 calls, so the turn ended. Continue with: skein run -s ses_1 --db 'my db' \"…\""
  ])
})

it("a run that cannot ask is advised to pass --auto only if that allows what was denied", () => {
  const denied = (needsPerson: boolean) => {
    const { denials, tell } = world()
    tell("permission.asked", { ...permission("per_0"), ...(needsPerson ? { needsPerson } : {}) })
    tell("permission.replied", { id: "per_0", reply: "reject" })
    const asked = { auto: false, canAsk: false, onTerminal: false, readerIsGone: false, way: "" }
    return closingLines({ outcome: "completed" } as RunResult, denials, asked)[0]
  }
  expect(denied(false)).toContain("Run it on a terminal to be asked, pass --auto, or allow it")
  expect(denied(true)).toMatch(/\. Run it on a terminal to be asked: --auto does not allow that\.$/)
})

it("the advice covers each denial, and names the project's rule that no config of the user lifts", () => {
  const { denials, tell } = world()
  const place = { origin: "opencode.json:1", path: ["permission", "bash"], value: "ask" }
  denials.under({ entries: [place], projectKeys: new Set(["permission.bash"]) })
  const deny = (id: string, more: object) => {
    tell("permission.asked", { ...permission(id), ...more })
    tell("permission.replied", { id, reply: "reject" })
  }
  const said = () =>
    closingLines({ outcome: "completed" } as RunResult, denials, {
      auto: false,
      canAsk: false,
      onTerminal: false,
      readerIsGone: false,
      way: ""
    })[0]
  const change =
    "pass --auto, or change the project's rule that asks, which your config cannot lift (permission.bash in opencode.json:1)."
  deny("per_0", { permission: "bash", patterns: ["touch zz"], always: ["touch zz"] })
  expect(said()).toContain(`Run it on a terminal to be asked, where "always in this project" lasts, ${change}`)
  expect(said()).not.toContain("allow")
  deny("per_5", { permission: "bash", patterns: ["touch $x"], always: [] })
  expect(said()).not.toContain("always in this project")
  deny("per_1", {})
  deny("per_2", { permission: "webfetch", patterns: ["a", "b"], always: ["a", "b"] })
  const rules = "{\"edit\":{\"*\":\"allow\"},\"webfetch\":{\"a\":\"allow\",\"b\":\"allow\"}}"
  expect(said()?.endsWith(`, or allow the rest in your config: "permission": ${rules}`)).toBe(true)
})

it.each([
  ["invalid_request", "Continue with another model: `skein sessions resume ses_1 -m PROVIDER/MODEL`."],
  ["ContextOverflow", "Continue with another model: `skein sessions resume ses_1 -m PROVIDER/MODEL`."],
  ["rate_limit", "Wait, then continue with `skein sessions resume ses_1`."],
  ["auth", "Then continue with `skein sessions resume ses_1`."],
  ["network", "Continue with `skein sessions resume ses_1`."]
])("the way to continue after %s does not repeat the failure", (tag, remedy) => {
  const result = { outcome: "failed", sessionID: "ses_1", error: { tag, message: "What failed." } } as RunResult
  const asked = { auto: false, canAsk: false, onTerminal: false, readerIsGone: false, way: "" }
  expect(closingLines(result, world().denials, asked)).toEqual([`skein: What failed. ${remedy}`])
})
