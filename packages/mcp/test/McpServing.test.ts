import { describe, expect, it } from "@effect/vitest"
import type { CallToolResult, ListResourcesResult } from "@modelcontextprotocol/client"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import { makeEndpoint, makeEndpointOn, ways } from "./support/clients.ts"

const textOf = (result: unknown): string =>
  (result as CallToolResult).content.map((part) => part.type === "text" ? part.text : "").join("\n")

const asking = SkeinTest.tool("edit", () => Effect.succeed("edited"), {
  authorise: () =>
    Effect.succeed([{ permission: "edit", patterns: ["a.ts"], always: ["*"], metadata: { path: "a.ts" } }])
})

describe.each(ways)("over $over by $revision", (way) => {
  const options = { name: "task", arguments: { agent: "worker", prompt: "Find the entry", directory: "/project" } }

  it.scopedLive("delegates a task, and gives its conclusion as the task tool does", () =>
    Effect.gen(function*() {
      const { connect } = yield* makeEndpoint
      const { client } = yield* connect(way)
      const result = yield* Effect.promise(() => client.callTool(options))
      expect(textOf(result)).toMatch(
        /^task_id: ses_\w+ \(for resuming to continue this task if needed\)\n\n<task_result>\nIt is main.ts\n<\/task_result>$/
      )
      expect(result.isError).toBeUndefined()
    }).pipe(Effect.provide(SkeinTest.layer({ worker: ["It is main.ts"] }, { agents: [SkeinTest.agent("worker")] }))))

  it.scopedLive("asks the client what an agent at depth 2 asks, with the way to it", () =>
    Effect.gen(function*() {
      const { connect } = yield* makeEndpoint
      const messages: Array<string> = []
      const { client } = yield* connect(way, ({ message }) => {
        messages.push(message)
        return { action: "accept", content: { answer: "once" } }
      })
      const result = yield* Effect.promise(() => client.callTool(options))
      expect(messages).toHaveLength(1)
      expect(messages[0]).toContain("build > worker > editor asks for permission: edit")
      expect(messages[0]).toContain("a.ts")
      expect(textOf(result)).toContain("<task_result>\nIt is edited")
    }).pipe(Effect.provide(SkeinTest.layer({
      worker: [Scripted.tasks({ editor: "Edit it" }), "It is edited"],
      editor: [Scripted.call("edit", {}), "Edited"]
    }, {
      agents: [SkeinTest.agent("worker", { permission: { task: "allow" } }), SkeinTest.agent("editor")],
      tools: [asking]
    }))))

  it.scopedLive("denies what is asked where the client has no forms", () =>
    Effect.gen(function*() {
      const { connect } = yield* makeEndpoint
      const { client } = yield* connect(way)
      const result = yield* Effect.promise(() => client.callTool(options))
      expect(textOf(result)).toContain("<task_result>\nNot permitted")
    }).pipe(Effect.provide(SkeinTest.layer({ worker: [Scripted.call("edit", {}), "Not permitted"] }, {
      agents: [SkeinTest.agent("worker")],
      tools: [asking]
    }))))

  it.scopedLive("tells the client when sessions that it listed come, go or are renamed", () =>
    Effect.gen(function*() {
      const told = yield* Queue.unbounded<void>()
      const { connect } = yield* makeEndpoint
      const { client } = yield* connect(way, undefined, {}, () => void Queue.unsafeOffer(told, undefined))
      expect(client.getServerCapabilities()?.resources).toEqual({ listChanged: true })
      yield* Effect.promise(() => client.callTool(options))
      const titles = Effect.map(
        Effect.promise(() => client.listResources({})),
        ({ resources }) => resources.map(({ title }) => title)
      )
      expect(yield* titles).toHaveLength(2)
      const { rows: [task] } = yield* Effect.flatMap(SessionStorage, ({ sessions }) => sessions({ limit: 1 }))
      if (task === undefined) return expect.unreachable()
      yield* Effect.flatMap(Session, (sessions) => sessions.rename(task.id, "Renamed"))
      yield* Queue.take(told)
      expect(yield* titles).toContain("Renamed")
      yield* Effect.promise(() => client.callTool(options))
      yield* Queue.take(told)
      expect(yield* titles).toHaveLength(3)
      yield* Effect.flatMap(Session, (sessions) => sessions.remove(task.id))
      yield* Queue.take(told)
      expect(yield* titles).not.toContain("Renamed")
    }).pipe(Effect.provide(SkeinTest.layer({ worker: ["Done", "Done"] }, { agents: [SkeinTest.agent("worker")] }))))

  it.scopedLive("ends the run of a call that is cancelled", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const hangs = SkeinTest.tool("hangs", () =>
        Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
        ))
      yield* Effect.gen(function*() {
        const { connect } = yield* makeEndpoint
        const { client } = yield* connect(way)
        const abort = new AbortController()
        const call = client.callTool(options, { signal: abort.signal }).catch(() => "cancelled")
        yield* Deferred.await(begun)
        abort.abort()
        yield* Deferred.await(ended)
        expect(yield* Effect.promise(() => call)).toBe("cancelled")
        const { rows } = yield* (yield* SessionStorage).sessions({})
        expect(rows).toHaveLength(2)
      }).pipe(Effect.provide(SkeinTest.layer({ worker: [Scripted.call("hangs", {})] }, {
        agents: [SkeinTest.agent("worker")],
        tools: [hangs],
        rules: { hangs: "allow" }
      })))
    }))

  it.scopedLive("delegates several tasks in one call, which work at the same time, with all results in order", () =>
    Effect.gen(function*() {
      const both = yield* Deferred.make<void>()
      let met = 0
      // None ends before both are at work.
      const meets = SkeinTest.tool("meets", () =>
        Effect.suspend(() => {
          met += 1
          return Effect.as(met === 2 ? Deferred.succeed(both, undefined) : Deferred.await(both), "met")
        }))
      yield* Effect.gen(function*() {
        const { connect } = yield* makeEndpoint
        const { client } = yield* connect(way)
        const tasks = [{ agent: "first", prompt: "Go" }, { agent: "second", prompt: "Go" }]
        const result = yield* Effect.promise(() =>
          client.callTool({ name: "task", arguments: { tasks, directory: "/project" } })
        )
        expect(result.isError).toBeUndefined()
        expect(textOf(result)).toMatch(
          /^Task 1 of 2\ntask_id: ses_.*First is done.*\nTask 2 of 2\ntask_id: ses_.*Second is done/s
        )
        const mixed = yield* Effect.promise(() =>
          client.callTool({
            name: "task",
            arguments: {
              tasks: [{ agent: "first", prompt: "Go" }, { agent: "nobody", prompt: "Go" }],
              directory: "/project"
            }
          })
        )
        expect(mixed.isError).toBe(true)
        expect(textOf(mixed)).toMatch(/^tasks\.1: Unknown agent type: nobody/)
        // Of the call that was refused, nothing began.
        const { rows } = yield* (yield* SessionStorage).runs({})
        expect(rows).toHaveLength(2)
      }).pipe(Effect.provide(SkeinTest.layer({
        first: [Scripted.call("meets", {}), "First is done"],
        second: [Scripted.call("meets", {}), "Second is done"]
      }, { agents: [SkeinTest.agent("first"), SkeinTest.agent("second")], tools: [meets], rules: { meets: "allow" } })))
    }))

  it.scopedLive("delegates in the background, answers what is asked while it waits, and then has the results", () =>
    Effect.gen(function*() {
      const { connect } = yield* makeEndpoint
      const { client } = yield* connect(way, () => ({ action: "accept", content: { answer: "once" } }))
      const call = (name: string, given: Record<string, unknown>) =>
        Effect.promise(() => client.callTool({ name, arguments: given }))
      const one = { agent: "worker", prompt: "Edit it" }
      const begun = yield* call("task", { tasks: [one, one], directory: "/project", background: true })
      const ids = [...textOf(begun).matchAll(/task_id: (ses_\w+)\nThe task works in the background/g)].map(([, id]) =>
        id
      )
      expect(ids).toHaveLength(2)
      const ended = textOf(yield* call("task_status", { wait: true }))
      expect(ended).toMatch(/Task 1 of 2.*It is edited.*Task 2 of 2.*It is edited/s)
      expect(ids.every((id) => ended.includes(id ?? "?"))).toBe(true)
      const again = textOf(yield* call("task_status", { task_id: ids[1], wait: true }))
      expect(again).toContain("<task_result>\nIt is edited")
      expect(textOf(yield* call("task_status", { task_id: ids[0] }))).toMatch(
        /state: settled.*<task_result>\nIt is edited/s
      )
      expect((yield* call("task", { ...one, tasks: [one] })).isError).toBe(true)
    }).pipe(
      Effect.provide(SkeinTest.layer({
        worker: [Scripted.call("edit", {}), "It is edited"]
      }, {
        agents: [SkeinTest.agent("worker")],
        tools: [asking]
      }))
    ))

  it.scopedLive("delegates nothing to a model that is only there because none is set up", () =>
    Effect.gen(function*() {
      const { connect } = yield* makeEndpointOn({
        fallback: { model: { providerID: "scripted", modelID: "model" }, message: "Set a key." }
      })
      const { client } = yield* connect(way)
      const result = yield* Effect.promise(() => client.callTool(options))
      expect(textOf(result)).toBe("Set a key.")
      expect(result.isError).toBe(true)
      const { rows } = yield* (yield* SessionStorage).runs({})
      expect(rows).toEqual([])
    }).pipe(Effect.provide(SkeinTest.layer({ worker: ["Surveyed"] }, { agents: [SkeinTest.agent("worker")] }))))
})

/** What each request of 2026-07-28 says of its client. */
const meta = (capabilities: Record<string, unknown>) => ({
  _meta: {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities
  }
})

const tasks = { extensions: { "io.modelcontextprotocol/tasks": {} } }

const asks = SkeinTest.layer({ worker: [Scripted.call("edit", {}), "It is edited"] }, {
  agents: [SkeinTest.agent("worker")],
  tools: [asking]
})

const delegated = { name: "task", arguments: { agent: "worker", prompt: "Edit it" } }

describe("a client that knows tasks", () => {
  it.scopedLive("gets one by the extension, answers what it asks, and reads its result from it", () =>
    Effect.gen(function*() {
      const { connectRaw } = yield* makeEndpoint
      const { request } = yield* connectRaw
      const able = meta({ ...tasks, elicitation: { form: {} } })
      const { result: created = {} } = yield* request("tools/call", { ...delegated, ...able })
      expect(created).toMatchObject({ resultType: "task", status: "working", ttlMs: 86_400_000, pollIntervalMs: 1_000 })
      const { taskId } = created
      // Clients poll, and leave time between.
      const get = Effect.delay(
        Effect.map(request("tasks/get", { taskId, ...able }), ({ result = {} }) => result),
        "10 millis"
      )
      const asked = yield* Effect.repeat(get, { until: ({ status }) => status === "input_required" })
      const [id = "", form] = Object.entries(asked["inputRequests"] as Record<string, unknown>)[0] ?? []
      expect(form).toMatchObject({ method: "elicitation/create" })
      const inputResponses = { [id]: { action: "accept", content: { answer: "once" } }, other: 7 }
      expect((yield* request("tasks/update", { taskId, inputResponses, ...able })).result).toMatchObject({
        resultType: "complete"
      })
      const done = yield* Effect.repeat(get, { until: ({ status }) => status === "completed" })
      expect(textOf(done["result"])).toContain("<task_result>\nIt is edited")
      expect((yield* request("tasks/get", { taskId: "run_0", ...able })).error?.code).toBe(-32_602)
      expect((yield* request("tasks/get", { taskId, ...meta({}) })).error?.code).toBe(-32_021)
      for (const method of ["tasks/result", "tasks/list"]) {
        expect((yield* request(method, { taskId, ...able })).error?.code, method).toBe(-32_601)
      }
    }).pipe(Effect.provide(asks)))

  it.scopedLive("gets one of 2025-11-25 where it asks for one, and its result with tasks/result", () =>
    Effect.gen(function*() {
      const { connectRaw } = yield* makeEndpoint
      const { request } = yield* connectRaw
      const clientInfo = { name: "raw", version: "1" }
      yield* request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo })
      const { result: created = {} } = yield* request("tools/call", { ...delegated, task: { ttl: 60_000 } })
      const { taskId } = created["task"] as { readonly taskId: string }
      const { result } = yield* request("tasks/result", { taskId })
      expect(textOf(result)).toContain("<task_result>\nIt is edited")
      expect((yield* request("tasks/get", { taskId })).result).toMatchObject({ taskId, status: "completed" })
      expect((yield* request("tasks/list", {})).result).toMatchObject({ tasks: [{ taskId }] })
      expect((yield* request("tools/call", delegated)).result).not.toHaveProperty("task")
    }).pipe(Effect.provide(asks)))

  it.scopedLive("cancels one, which ends its run", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const hangs = SkeinTest.tool("hangs", () =>
        Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
        ))
      yield* Effect.gen(function*() {
        const { connectRaw } = yield* makeEndpoint
        const { request } = yield* connectRaw
        const { result: { taskId } = {} } = yield* request("tools/call", { ...delegated, ...meta(tasks) })
        yield* Deferred.await(begun)
        expect((yield* request("tasks/cancel", { taskId, ...meta(tasks) })).error).toBeUndefined()
        yield* Deferred.await(ended)
        expect((yield* request("tasks/get", { taskId, ...meta(tasks) })).result).toMatchObject({ status: "cancelled" })
        expect((yield* request("tasks/cancel", { taskId, ...meta(tasks) })).error).toBeUndefined()
      }).pipe(Effect.provide(SkeinTest.layer({ worker: [Scripted.call("hangs", {})] }, {
        agents: [SkeinTest.agent("worker")],
        tools: [hangs],
        rules: { hangs: "allow" }
      })))
    }))

  it.scopedLive("loses what runs when it goes away", () =>
    Effect.gen(function*() {
      const { connectRaw } = yield* makeEndpoint
      const { close, request } = yield* connectRaw
      yield* request("tools/call", { ...delegated, ...meta({ ...tasks, elicitation: {} }) })
      yield* close
      const { rows } = yield* (yield* SessionStorage).runs({})
      expect(rows).toMatchObject([{ state: "settled", outcome: { status: "stopped" } }])
    }).pipe(Effect.provide(asks)))
})

it.scopedLive("the transcripts of the project's sessions are listed, those of other clients too", () =>
  Effect.gen(function*() {
    const { connect } = yield* makeEndpoint
    const way = { over: "streams", revision: "2025-11-25" } as const
    const one = yield* connect(way)
    yield* Effect.promise(() => one.client.callTool(delegated))
    const two = yield* connect(way)
    const { resources } = yield* Effect.promise(() => two.client.listResources())
    expect(resources).toHaveLength(1)
    const own = yield* Effect.promise(() => one.client.listResources())
    // The root and the task below it, each once.
    expect(own.resources).toHaveLength(2)
  }).pipe(Effect.provide(SkeinTest.layer({ worker: ["Done"] }, { agents: [SkeinTest.agent("worker")] }))))

it.scopedLive("all transcripts of the project are listed, in pages", () =>
  Effect.gen(function*() {
    const made = yield* Effect.forEach(Array.from({ length: 120 }), () =>
      Session.create({ directory: "/project", projectID: "/project", agent: "worker" }))
    const { connect } = yield* makeEndpoint
    const { client } = yield* connect({ over: "streams", revision: "2025-11-25" })
    const uris: Array<string> = []
    let pages = 0
    for (let cursor: string | undefined = ""; cursor !== undefined; pages += 1) {
      const params: { readonly cursor?: string } = cursor === "" ? {} : { cursor }
      const page: ListResourcesResult = yield* Effect.promise(() =>
        client.request({ method: "resources/list", params })
      )
      uris.push(...page.resources.map(({ uri }) => uri))
      cursor = page.nextCursor
    }
    expect(uris.toSorted()).toEqual(made.map(({ id }) => `skein://sessions/${id}`).toSorted())
    expect(pages).toBe(3)
    const refused = yield* Effect.promise(() => client.listResources({ cursor: "x" }).catch(String))
    expect(refused).toContain("List from the start")
  }).pipe(Effect.provide(SkeinTest.layer({}, { agents: [SkeinTest.agent("worker")] }))))

describe("a rule", () => {
  it.scopedLive("that denies tasks for an agent denies them to clients as well", () =>
    Effect.gen(function*() {
      const { connect } = yield* makeEndpoint
      const { client } = yield* connect({ over: "streams", revision: "2025-11-25" })
      const result = yield* Effect.promise(() => client.callTool(delegated))
      expect(textOf(result)).toBe("The rules of this project deny tasks for the agent worker.")
      expect(result.isError).toBe(true)
    }).pipe(Effect.provide(SkeinTest.layer({ worker: ["Never"] }, {
      agents: [SkeinTest.agent("worker")],
      rules: { task: { "*": "allow", worker: "deny" } }
    }))))
})
