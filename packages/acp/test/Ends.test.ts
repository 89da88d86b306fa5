/** Proves how turns end before their time: cancelled, or with a client that is gone, at any instant. */
import type { PromptResponse } from "@agentclientprotocol/sdk/unstable"
import { describe, expect, it } from "@effect/vitest"
import { Backend } from "@skein/backend/Backend"
import { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { backend, connect, latch, select } from "./support/connected.ts"

const cwd = process.cwd()

const say = (words: string) => [{ type: "text" as const, text: words }]

const change = SkeinTest.tool("change", () => Effect.succeed("changed"), {
  authorise: () => Effect.succeed([{ permission: "change", patterns: ["it"], always: ["*"], metadata: {} }])
})

/** Two children: one asks, one ends; then the root says something that never ends. */
const tree = () =>
  backend({
    build: [
      Scripted.text("Let me see", { ...Scripted.tasks({ lead: "Lead" }, { explore: "Look" }), pieces: 3 }),
      Scripted.text("The end", { hangs: true })
    ],
    lead: [Scripted.call("change", {}), "Lead is done"],
    explore: ["Explored"]
  }, { tools: [change], agents: [SkeinTest.agent("lead")] })

/** After how many updates something happens: at once, in the beginning, among the tasks, at the end. */
const instants = [0, 1, 2, 3, 5, 8, 11, 14]

/** Resolves after so many updates of a turn. */
const after = (count: number, { until }: { readonly until: (fits: () => boolean) => Promise<unknown> }) => {
  let heard = 0
  return count === 0 ? Promise.resolve() : until(() => ++heard > count)
}

const isAtWork = (id: string) =>
  Effect.gen(function*() {
    const { sessions, tasks } = yield* Backend
    const root = SessionID.make(id)
    const { status } = yield* sessions.get(root)
    const children = (yield* sessions.children(root, {})).items
    const runs = (yield* tasks.list(root, {})).items
    return {
      statuses: [status, ...children.map((child) => child.status)].map(({ type }) => type),
      running: runs.filter(({ state }) => state === "running").length
    }
  })

describe.each([{ subagents: {} }, {}])("a client with the capabilities %j", (capabilities) => {
  it.live.each(instants)(
    "that cancels after %i updates is answered cancelled, and nothing runs any more",
    (count) =>
      Effect.gen(function*() {
        const connected = yield* connect({ capabilities })
        const { agent } = connected
        const sessionId = yield* Effect.promise(async () => {
          const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
          const answer = agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
          await after(count, connected)
          await agent.notify("session/cancel", { sessionId })
          expect(await answer).toEqual({ stopReason: "cancelled" })
          return sessionId
        })
        const { running, statuses } = yield* isAtWork(sessionId)
        expect(new Set(statuses)).toEqual(new Set(["idle"]))
        expect(running).toBe(0)
        const again = yield* Effect.promise(() => agent.request("session/list", {}))
        expect(again.sessions.map((session) => session.sessionId)).toContain(sessionId)
      }).pipe(Effect.scoped, Effect.provide(tree()))
  )

  it.live.each(instants)("that is gone after %i updates leaves nothing at work", (count) =>
    Effect.gen(function*() {
      const connected = yield* connect({ capabilities })
      const { agent, ended, vanish } = connected
      const sessionId = yield* Effect.promise(async () => {
        const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") }).catch(() => undefined)
        await after(count, connected)
        await vanish()
        return sessionId
      })
      yield* ended
      const { statuses } = yield* isAtWork(sessionId)
      expect(new Set(statuses)).toEqual(new Set(["idle"]))
    }).pipe(Effect.scoped, Effect.provide(tree())))
})

it.live("a subagent can be cancelled by itself", () =>
  Effect.gen(function*() {
    const { agent, until } = yield* connect({ capabilities: { subagents: {} } })
    yield* Effect.promise(async () => {
      const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
      const answer = agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
      const { update } = await until(({ update: { sessionUpdate } }) => sessionUpdate === "subagent_update")
      const child = update.sessionUpdate === "subagent_update" ? update.sessionId : ""
      await agent.notify("session/cancel", { sessionId: child })
      await until((heard) =>
        heard.update.sessionUpdate === "subagent_update" && heard.update.state?.state === "idle"
        && heard.update.state.stopReason === "cancelled"
      )
      expect(await answer).toMatchObject({ stopReason: "end_turn" })
    })
  }).pipe(
    Effect.scoped,
    Effect.provide(backend({
      build: [Scripted.tasks({ explore: "Look" }), "It was stopped"],
      explore: [Scripted.text("Looking", { hangs: true }), "Concluded"]
    }))
  ))

it.live("a question that nobody has answered is asked again when its session goes on", () =>
  Effect.gen(function*() {
    const never = new Promise<never>(() => undefined)
    const ids: Array<string> = []
    const sessionId = yield* Effect.scoped(Effect.gen(function*() {
      const asked = latch()
      const { agent, ended, vanish } = yield* connect({
        permit: ({ toolCall }) => {
          ids.push(toolCall.toolCallId)
          asked.open()
          return never
        }
      })
      const id = yield* Effect.promise(async () => {
        const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") }).catch(() => undefined)
        await asked.opened
        await vanish()
        return sessionId
      })
      yield* ended
      return id
    }))
    const { agent, heard } = yield* connect({
      permit: ({ toolCall }) => {
        ids.push(toolCall.toolCallId)
        return select("once")
      }
    })
    yield* Effect.promise(async () => {
      await agent.request("session/load", { sessionId, cwd, mcpServers: [] })
      const answer = await agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go on") })
      expect(answer.stopReason).toBe("end_turn")
      expect(ids).toHaveLength(2)
      expect(ids[1]).toBe(ids[0])
      expect(JSON.stringify(heard)).toContain("Done")
    })
  }).pipe(
    Effect.scoped,
    Effect.provide(backend({ build: [Scripted.call("change", {}), "Done", "Done"] }, { tools: [change] }))
  ))

it.live.each([{ subagents: {} }, {}])(
  "a client that is gone in the middle of a question from depth 3 leaves nothing at work: %j",
  (capabilities) => {
    const may = { permission: { task: "allow" } } as const
    return Effect.gen(function*() {
      const asked = latch()
      const { agent, ended, frames, vanish } = yield* connect({
        capabilities,
        permit: () => {
          asked.open()
          return new Promise<never>(() => undefined)
        }
      })
      const sessionId = yield* Effect.promise(async () => {
        const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") }).catch(() => undefined)
        await asked.opened
        await vanish()
        return sessionId
      })
      expect(JSON.stringify(frames)).toContain("build › lead › hand › finger: change it")
      yield* ended
      const { statuses } = yield* isAtWork(sessionId)
      expect(new Set(statuses)).toEqual(new Set(["idle"]))
      // The question was not answered for the person: the next client gets it.
      const titles: Array<string | null | undefined> = []
      const next = yield* connect({
        capabilities,
        permit: ({ toolCall }) => {
          titles.push(toolCall.title)
          return select("once")
        }
      })
      yield* Effect.promise(async () => {
        await next.agent.request("session/load", { sessionId, cwd, mcpServers: [] })
        await next.agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go on") })
        expect(titles).toEqual(["build › lead › hand › finger: change it"])
      })
    }).pipe(
      Effect.scoped,
      Effect.provide(backend({
        build: [Scripted.tasks({ lead: "Lead" }), "The end"],
        lead: [Scripted.tasks({ hand: "Help" }), "Lead is done"],
        hand: [Scripted.tasks({ finger: "Touch" }), "Hand is done"],
        finger: [Scripted.call("change", {}), "Finger is done"]
      }, {
        tools: [change],
        agents: [SkeinTest.agent("lead", may), SkeinTest.agent("hand", may), SkeinTest.agent("finger")]
      }))
    )
  }
)
