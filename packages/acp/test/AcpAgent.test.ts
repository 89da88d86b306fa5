/** Proves what a client of the protocol can do with sessions. */
import type { PromptResponse, RequestPermissionRequest } from "@agentclientprotocol/sdk/unstable"
import { describe, expect, it } from "@effect/vitest"
import { Backend } from "@skein/backend/Backend"
import { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { backend, connect, type Heard, latch, select } from "./support/connected.ts"

const cwd = process.cwd()

const say = (words: string) => [{ type: "text" as const, text: words }]

/** The text that the agent said, in order. */
const said = (heard: ReadonlyArray<Heard>, kind = "agent_message_chunk") =>
  heard.flatMap(({ update }) =>
    update.sessionUpdate === kind && "content" in update && update.content !== null && !Array.isArray(update.content)
      && update.content?.type === "text"
      ? [update.content.text]
      : []
  )

/** An error of the protocol. */
const refusal = (promise: Promise<unknown>) =>
  promise.then(() => undefined, (error: { readonly code: number; readonly message: string }) => error)

const asking = (always: ReadonlyArray<string>) =>
  SkeinTest.tool("change", () => Effect.succeed("changed"), {
    authorise: () => Effect.succeed([{ permission: "change", patterns: ["rm -rf ."], always, metadata: {} }])
  })

describe("prompts", () => {
  it.live("are answered with the text of the model, and why the turn ended", () =>
    Effect.gen(function*() {
      const { agent, heard } = yield* connect()
      yield* Effect.promise(async () => {
        const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        const answer = await agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Hello") })
        expect(answer).toMatchObject({ stopReason: "end_turn" })
        expect(said(heard).join("")).toBe("Hello to you")
        // What the client has written itself it need not be told.
        expect(said(heard, "user_message_chunk")).toEqual([])
      })
    }).pipe(Effect.scoped, Effect.provide(backend({ build: [Scripted.text("Hello to you", { pieces: 4 })] }))))

  it.live("carry images, resources and links to the model, and their text names no file to attach", () => {
    const requests: Array<string> = []
    const script = (request: unknown) => {
      requests.push(JSON.stringify(request))
      return "Seen"
    }
    return Effect.gen(function*() {
      const { agent } = yield* connect()
      yield* Effect.promise(async () => {
        const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        await agent.request<PromptResponse>("session/prompt", {
          sessionId,
          prompt: [
            ...say("Look at "),
            { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
            { type: "resource", resource: { uri: "zed:///selection", text: "@nothing selected text" } },
            { type: "resource_link", name: "spec", uri: "https://example.org/spec" }
          ]
        })
      })
      expect(requests.join("")).toContain("selected text")
      expect(requests.join("")).toContain("https://example.org/spec")
      expect(requests.join("")).toContain("iVBORw0KGgo=")
      expect(requests.join("")).not.toContain("@nothing is not attached")
    }).pipe(Effect.scoped, Effect.provide(backend({ build: script })))
  })

  it.live("run a command by its name, and send another word with a slash as it is", () => {
    const prompts: Array<string> = []
    return Effect.gen(function*() {
      const { agent, until } = yield* connect()
      yield* Effect.promise(async () => {
        const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        const { update } = await until(({ update: { sessionUpdate } }) => sessionUpdate === "available_commands_update")
        expect(JSON.stringify(update)).toContain("\"review\"")
        await agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("/usr/bin is a directory") })
        await agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("/init") })
      })
      expect(prompts[0]).toContain("/usr/bin is a directory")
      expect(prompts[1]).toContain("AGENTS.md")
    }).pipe(
      Effect.scoped,
      Effect.provide(backend({
        build: (request) => {
          prompts.push(JSON.stringify(request.messages.at(-1)))
          return "Done"
        }
      }))
    )
  })

  it.live("to a session at work are read at its next step, and end with its turn", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const began = yield* Deferred.make<void>()
      const seen: Array<string> = []
      const tool = SkeinTest.tool("wait", () =>
        Effect.as(Effect.zipRight(Deferred.succeed(began, undefined), Deferred.await(gate)), "waited"))
      const build = (request: { readonly messages: ReadonlyArray<unknown> }) => {
        seen.push(JSON.stringify(request.messages))
        return seen.length === 1 ? Scripted.call("wait", {}) : "Both"
      }
      yield* Effect.gen(function*() {
        const { agent, heard } = yield* connect()
        const { sessionId } = yield* Effect.promise(() =>
          agent.request("session/new", { cwd, mcpServers: [] })
        )
        const first = agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("First") })
        yield* Deferred.await(began)
        const second = agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Second") })
        // The second one is stored once the list of messages that wait has it.
        yield* Effect.promise(() => agent.request("session/list", {}))
        yield* Deferred.succeed(gate, undefined)
        const answers = yield* Effect.promise(() => Promise.all([first, second]))
        expect(answers.map(({ stopReason }) => stopReason)).toEqual(["end_turn", "end_turn"])
        expect(seen.at(-1)).toContain("Second")
        expect(said(heard, "user_message_chunk")).toEqual([])
      }).pipe(Effect.scoped, Effect.provide(backend({ build }, { tools: [tool] })))
    }))

  it.live("that fail say why", () =>
    Effect.gen(function*() {
      const { agent } = yield* connect()
      yield* Effect.promise(async () => {
        const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        expect(await refusal(agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })))
          .toMatchObject({
            code: -32603,
            message: expect.stringContaining("no such key")
          })
        expect(await refusal(agent.request<PromptResponse>("session/prompt", { sessionId, prompt: [] }))).toMatchObject(
          {
            code: -32602,
            message: "The prompt is empty. Write something."
          }
        )
      })
    }).pipe(
      Effect.scoped,
      Effect.provide(backend({ build: [Scripted.fault("auth", { retryable: false, message: "no such key" })] }))
    ))

  it.live("wait for what the turn has left in the background", () =>
    Effect.gen(function*() {
      const { agent, heard } = yield* connect()
      yield* Effect.promise(async () => {
        const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        await agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
        expect(said(heard)).toEqual(["Started", "It is done"])
      })
    }).pipe(
      Effect.scoped,
      Effect.provide(backend({
        build: [
          Scripted.call("task", {
            description: "look",
            prompt: "Look",
            subagent_type: "explore",
            background: true
          }),
          "Started",
          "It is done"
        ],
        explore: [Scripted.text("Found", { delay: { first: 50 } })]
      }))
    ))
})

describe("sessions", () => {
  it.live("are listed, loaded with their history, resumed without it, and closed", () =>
    Effect.gen(function*() {
      const { agent, frames, heard } = yield* connect()
      yield* Effect.promise(async () => {
        const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        await agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Hello") })
        const { sessions } = await agent.request("session/list", { cwd })
        expect(sessions).toMatchObject([{ sessionId, cwd, title: expect.any(String) }])
        expect(await agent.request("session/list", { cwd: "/elsewhere" })).toMatchObject({ sessions: [] })
        expect(await refusal(agent.request("session/list", { cwd: "here" }))).toMatchObject({ code: -32602 })
        expect(await refusal(agent.request("session/list", { cursor: "next" }))).toMatchObject({ code: -32602 })

        await agent.request("session/close", { sessionId })
        expect(await refusal(agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Again") })))
          .toMatchObject({
            code: -32002
          })
        const before = heard.length
        const began = frames.length
        const loaded = await agent.request("session/load", { sessionId, cwd, mcpServers: [] })
        expect(loaded).toMatchObject({ modes: { currentModeId: "ask" } })
        const history = heard.slice(before)
        expect(said(history, "user_message_chunk")).toEqual(["Hello"])
        expect(said(history)).toEqual(["Hi"])
        // All of it before the answer.
        const answered = frames.findIndex(({ frame }, index) =>
          index >= began && frame.result !== undefined && "modes" in frame.result
        )
        const told = frames.findLastIndex(({ frame }) => JSON.stringify(frame).includes("\"Hi\""))
        expect(told).toBeLessThan(answered)

        await agent.request("session/close", { sessionId })
        for (const method of ["session/load", "session/resume"] as const) {
          const elsewhere = { sessionId, cwd: "/elsewhere", mcpServers: [] }
          expect(await refusal(agent.request(method, elsewhere))).toMatchObject({
            code: -32602,
            message: expect.stringContaining(`works in ${cwd}, and not in /elsewhere`)
          })
          expect(await refusal(agent.request(method, { ...elsewhere, cwd: "here" }))).toMatchObject({ code: -32602 })
        }
        const several = { cwd, mcpServers: [], additionalDirectories: ["/elsewhere"] }
        expect(await refusal(agent.request("session/new", several))).toMatchObject({
          code: -32602,
          message: expect.stringContaining("one directory")
        })
        const resumed = heard.length
        await agent.request("session/resume", { sessionId, cwd, mcpServers: [] })
        expect(said(heard.slice(resumed))).toEqual([])
        await agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Again") })
        expect(said(heard.slice(resumed))).toEqual(["Hi"])
      })
    }).pipe(Effect.scoped, Effect.provide(backend({ build: ["Hi"] }))))

  it.live("replay their subagents where they were called, for a client that knows those", () =>
    Effect.gen(function*() {
      const { agent, heard } = yield* connect({ capabilities: { subagents: {} } })
      yield* Effect.promise(async () => {
        const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        await agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
        await agent.request("session/close", { sessionId })
        const before = heard.length
        await agent.request("session/load", { sessionId, cwd, mcpServers: [] })
        const kinds = heard.slice(before).map((each) =>
          `${each.sessionId === sessionId ? "root" : "child"} ${each.update.sessionUpdate}`
        )
        expect(kinds).toEqual([
          "root session_info_update",
          "root user_message_chunk",
          "root subagent_update",
          "child session_message",
          "child session_message_chunk",
          "child agent_message_chunk",
          "root session_message",
          "root subagent_update",
          "root tool_call",
          "root agent_message_chunk"
        ].filter((kind) => kinds.includes(kind)))
        expect(said(heard.slice(before))).toEqual(["Explored", "Done"])
      })
    }).pipe(
      Effect.scoped,
      Effect.provide(backend({ build: [Scripted.tasks({ explore: "Look" }), "Done"], explore: ["Explored"] }))
    ))

  it.live("change their mode and model, and tell it when another front end does", () =>
    Effect.gen(function*() {
      const { agent, until } = yield* connect()
      const { sessions } = yield* Backend
      const id = yield* Effect.promise(async () => {
        const { configOptions, modes, sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        expect(modes?.availableModes.map(({ id }) => id)).toEqual(["plan", "ask", "edits"])
        expect(configOptions?.map((option) => option.id)).toEqual(["mode", "model"])
        await agent.request("session/set_mode", { sessionId, modeId: "edits" })
        expect(await refusal(agent.request("session/set_mode", { sessionId, modeId: "auto" }))).toMatchObject({
          code: -32602,
          message: expect.stringContaining("--mode auto")
        })
        const set = await agent.request("session/set_config_option", { sessionId, configId: "mode", value: "plan" })
        expect(set.configOptions).toContainEqual(expect.objectContaining({ id: "mode", currentValue: "plan" }))
        expect(
          await refusal(
            agent.request("session/set_config_option", { sessionId, configId: "model", value: "no/such" })
          )
        ).toMatchObject({ code: -32602 })
        return SessionID.make(sessionId)
      })
      expect(yield* sessions.get(id)).toMatchObject({ mode: "plan" })
      yield* sessions.setMode(id, "ask")
      yield* Effect.promise(() =>
        until(({ update }) => update.sessionUpdate === "current_mode_update" && update.currentModeId === "ask")
      )
    }).pipe(Effect.scoped, Effect.provide(backend({ build: ["Hi"] }))))

  it.live("tell what a call does, with the change that it makes", () =>
    Effect.gen(function*() {
      const { agent, heard } = yield* connect()
      yield* Effect.promise(async () => {
        const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        await agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
        const calls = heard.flatMap(({ update }) => update.sessionUpdate === "tool_call_update" ? [update] : [])
        expect(calls.at(-1)).toMatchObject({
          status: "completed",
          kind: "edit",
          locations: [{ path: `${cwd}/a.txt` }],
          content: [{ type: "diff", path: `${cwd}/a.txt`, oldText: null, newText: "new\n" }]
        })
      })
    }).pipe(
      Effect.scoped,
      Effect.provide(backend({ build: [Scripted.call("write", { filePath: "a.txt", content: "new\n" }), "Done"] }, {
        tools: [SkeinTest.tool("write", () => Effect.succeed("Wrote it"))]
      }))
    ))
})

describe("questions", () => {
  it.live("offer an answer for good only where there is one, and show the whole command", () =>
    Effect.gen(function*() {
      const asked: Array<RequestPermissionRequest> = []
      const { agent } = yield* connect({
        permit: (request) => {
          asked.push(request)
          return select("tree")
        }
      })
      yield* Effect.promise(async () => {
        const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
        await agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
        expect(asked).toHaveLength(1)
        expect(asked[0]?.toolCall.title).toBe("build: change rm -rf .")
        expect(asked[0]?.options.map(({ kind }) => kind)).toEqual(
          ["allow_once", "allow_always", "allow_always", "reject_once"]
        )
      })
    }).pipe(
      Effect.scoped,
      Effect.provide(
        backend({ build: [Scripted.call("change", {}), Scripted.call("change", {}), "Done"] }, {
          tools: [asking(["*"])]
        })
      )
    ))

  it.live("that are rejected, cancelled or fail at the client are refused, and the turn ends", () =>
    Effect.gen(function*() {
      for (
        const permit of [
          () => select("reject"),
          () => select("no such option"),
          () => ({ outcome: { outcome: "cancelled" as const } }),
          () => Promise.reject(new Error("no"))
        ]
      ) {
        const options: Array<string> = []
        const { agent, heard } = yield* connect({
          permit: (request) => {
            options.push(...request.options.map(({ kind }) => kind))
            return permit()
          }
        })
        yield* Effect.promise(async () => {
          const { sessionId } = await agent.request("session/new", { cwd, mcpServers: [] })
          const answer = await agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
          expect(answer.stopReason).toBe("end_turn")
          expect(JSON.stringify(heard)).toContain("Permission denied")
          expect(options).toEqual(["allow_once", "reject_once"])
        })
      }
    }).pipe(
      Effect.scoped,
      Effect.provide(backend({ build: [Scripted.call("change", {}), "Done"] }, { tools: [asking([])] }))
    ))

  it.live("that another front end answers are taken back from the client, whose answer then counts for nothing", () =>
    Effect.gen(function*() {
      const { asks } = yield* Backend
      const asked = latch()
      const takenBack = latch()
      const { agent } = yield* connect({
        permit: (_, signal) => {
          asked.open()
          return new Promise((resolve) =>
            signal.addEventListener("abort", () => {
              takenBack.open()
              resolve(select("reject"))
            })
          )
        }
      })
      const { sessionId } = yield* Effect.promise(() => agent.request("session/new", { cwd, mcpServers: [] }))
      const answer = agent.request<PromptResponse>("session/prompt", { sessionId, prompt: say("Go") })
      yield* Effect.promise(() => asked.opened)
      const { items: [ask] } = yield* asks.pending(SessionID.make(sessionId), {})
      if (ask?.type === "permission") yield* asks.reply(ask.id, "once")
      yield* Effect.promise(() => takenBack.opened)
      expect(yield* Effect.promise(() => answer)).toMatchObject({ stopReason: "end_turn" })
    }).pipe(
      Effect.scoped,
      Effect.provide(backend({ build: [Scripted.call("change", {}), "Done"] }, { tools: [asking([])] }))
    ))
})
