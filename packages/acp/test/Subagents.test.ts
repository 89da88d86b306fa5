/** Proves what clients see of subagents: those that know them, and those that do not. */
import type { PromptResponse, RequestPermissionRequest } from "@agentclientprotocol/sdk/unstable"
import { describe, expect, it } from "@effect/vitest"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { backend, connect, type Heard, select } from "./support/connected.ts"

const cwd = process.cwd()

const say = (words: string) => [{ type: "text" as const, text: words }]

/** A tool that needs permission. */
const change = SkeinTest.tool("change", () => Effect.succeed("changed"), {
  authorise: ({ what }) =>
    Effect.succeed([{ permission: "change", patterns: [String(what)], always: ["*"], metadata: {} }])
})

const may = { permission: { task: "allow" } } as const

/** The root starts three; `lead` asks at depth 2 by way of `hand`, and at depth 3 by way of `finger`. */
const tree = backend({
  build: [Scripted.tasks({ lead: "Lead" }, { explore: "Look here" }, { general: "Look there" }), "All done"],
  lead: [Scripted.tasks({ hand: "Help" }), "Lead is done"],
  hand: [Scripted.call("change", { what: "two" }), Scripted.tasks({ finger: "Touch" }), "Hand is done"],
  finger: [Scripted.call("change", { what: "three" }), "Finger is done"],
  explore: ["Explored"],
  general: ["Generally fine"]
}, {
  tools: [change],
  agents: [SkeinTest.agent("lead", may), SkeinTest.agent("hand", may), SkeinTest.agent("finger")]
})

/** The updates of one kind. */
const of = <K extends Heard["update"]["sessionUpdate"]>(heard: ReadonlyArray<Heard>, kind: K) =>
  heard.filter((each): each is Heard & { readonly update: Extract<Heard["update"], { sessionUpdate: K }> } =>
    each.update.sessionUpdate === kind
  )

describe("a client that knows subagents", () => {
  const capabilities = { subagents: {} }

  it.live("hears of each before anything names it, and gets its updates and questions under its own session", () =>
    Effect.gen(function*() {
      const asked: Array<RequestPermissionRequest> = []
      const { agent, heard } = yield* connect({
        capabilities,
        permit: (request) => {
          asked.push(request)
          return select("once")
        }
      })
      yield* Effect.promise(async () => {
        const { sessionId: root } = await agent.request("session/new", { cwd, mcpServers: [] })
        const answer = await agent.request<PromptResponse>("session/prompt", { sessionId: root, prompt: say("Go") })
        expect(answer.stopReason).toBe("end_turn")

        const announced = new Map<string, { readonly title: string; readonly parent: string }>()
        for (const { sessionId, update } of heard) {
          expect(sessionId === root || announced.has(sessionId), `${sessionId} was not announced`).toBe(true)
          if (update.sessionUpdate !== "subagent_update" || announced.has(update.sessionId)) continue
          announced.set(update.sessionId, { title: update.description ?? "", parent: sessionId })
        }
        const idOf = (name: string) => [...announced].find(([, { title }]) => title === name)?.[0] ?? name
        expect([...announced.values()].map(({ title }) => title).toSorted()).toEqual(
          ["explore", "finger", "general", "hand", "lead"]
        )
        expect(announced.get(idOf("lead"))?.parent).toBe(root)
        expect(announced.get(idOf("hand"))?.parent).toBe(idOf("lead"))
        expect(announced.get(idOf("finger"))?.parent).toBe(idOf("hand"))

        expect(asked.map(({ sessionId, toolCall: { title } }) => [sessionId, title])).toEqual([
          [idOf("hand"), "build › lead › hand: change two"],
          [idOf("finger"), "build › lead › hand › finger: change three"]
        ])
        const states = of(heard, "subagent_update").flatMap(({ update }) =>
          update.sessionId === idOf("finger") ? [update.state?.state] : []
        )
        expect(states.filter((state, index) => state !== states[index - 1])).toEqual(
          ["running", "requires_action", "running", "idle"]
        )
        const [last] = of(heard, "subagent_update").filter(({ update }) => update.sessionId === idOf("finger"))
          .toReversed()
        expect(last?.update.state).toMatchObject({ state: "idle", stopReason: "end_turn", usage: {} })
        const messages = of(heard, "session_message").map(({ sessionId, update }) => [
          sessionId,
          update.senderSessionId,
          update.recipientSessionId
        ])
        expect(messages).toContainEqual([idOf("finger"), idOf("hand"), idOf("finger")])
        expect(messages).toContainEqual([idOf("hand"), idOf("finger"), idOf("hand")])
        const instructions = of(heard, "session_message_chunk").flatMap(({ sessionId, update }) =>
          update.content.type === "text" ? [[sessionId, update.content.text]] : []
        )
        expect(instructions).toContainEqual([idOf("finger"), "Touch"])
        const words = of(heard, "agent_message_chunk").flatMap(({ sessionId, update }) =>
          update.content.type === "text" ? [[sessionId, update.content.text]] : []
        )
        expect(words).toContainEqual([idOf("explore"), "Explored"])
        expect(words).toContainEqual([root, "All done"])
      })
    }).pipe(Effect.scoped, Effect.provide(tree)))
})

describe("a client that knows none", () => {
  it.live("sees the tree in the calls of the root, and all questions there, with the path of agents", () =>
    Effect.gen(function*() {
      const asked: Array<RequestPermissionRequest> = []
      const { agent, heard } = yield* connect({
        permit: (request) => {
          asked.push(request)
          return select("once")
        }
      })
      yield* Effect.promise(async () => {
        const { sessionId: root } = await agent.request("session/new", { cwd, mcpServers: [] })
        const answer = await agent.request<PromptResponse>("session/prompt", { sessionId: root, prompt: say("Go") })
        expect(answer.stopReason).toBe("end_turn")
        expect(new Set(heard.map(({ sessionId }) => sessionId))).toEqual(new Set([root]))
        expect(asked.map(({ sessionId, toolCall: { title } }) => [sessionId, title])).toEqual([
          [root, "build › lead › hand: change two"],
          [root, "build › lead › hand › finger: change three"]
        ])
        const shown = [...of(heard, "tool_call"), ...of(heard, "tool_call_update")].map(({ update }) =>
          (update.content ?? []).map((content) =>
            content.type === "content" && content.content.type === "text" ? content.content.text : ""
          ).join("\n")
        )
        expect(shown).toContain(
          "- ● lead: lead task: task hand task\n  - ● hand: hand task: task finger task\n    - ? finger: finger task: waits for an answer"
        )
        // What the client was asked about does not stay open there.
        for (const { toolCall: { toolCallId } } of asked) {
          const [last] = of(heard, "tool_call_update").filter(({ update }) => update.toolCallId === toolCallId)
            .toReversed()
          expect(last?.update.status).toBe("completed")
        }
        const calls = of(heard, "tool_call").map(({ update }) => update.toolCallId)
        for (const id of calls) {
          const [last] = of(heard, "tool_call_update").filter(({ update }) => update.toolCallId === id).toReversed()
          expect(last?.update.status).toBe("completed")
        }
        expect(of(heard, "agent_message_chunk").map(({ update }) => update.content)).toEqual(
          [{ type: "text", text: "All done" }]
        )
      })
    }).pipe(Effect.scoped, Effect.provide(tree)))
})
