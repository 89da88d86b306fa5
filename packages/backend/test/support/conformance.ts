/** What every backend must do: the tests that the one in this process runs, and the one over a server. */
import { describe, expect, it } from "@effect/vitest"
import { Backend } from "@skein/backend/Backend"
import { eachPage } from "@skein/backend/Sessions"
import type { Watcher } from "@skein/backend/Watching"
import type { Event, EventType } from "@skein/domain/Event"
import { PermissionID, SessionID } from "@skein/domain/Id"
import type { MessageWithParts } from "@skein/domain/Part"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** Makes a backend over models that go by these scripts; a person answers its questions. */
export type MakeBackend = (
  scripts: SkeinTest.Scripts,
  options?: SkeinTest.SkeinTestOptions
) => Layer.Layer<Backend>

const directory = process.cwd()

const asking = SkeinTest.tool("change", () => Effect.succeed("changed"), {
  authorise: () => Effect.succeed([{ permission: "change", patterns: ["it"], always: ["it"], metadata: {} }])
})

/** A watcher that keeps what it hears, and lets tests wait for an event. */
const makeEar = () => {
  const heard: Array<Event> = []
  const snapshots: Array<Parameters<NonNullable<Watcher["snapshot"]>>[0]> = []
  const waiting = new Set<() => void>()
  const watcher: Watcher = {
    event: (event) => {
      heard.push(event)
      for (const look of waiting) look()
    },
    snapshot: (tree) => void snapshots.push(tree)
  }
  /** The first event of a type that fits, past or future. */
  const first = <T extends EventType>(type: T, fits: (event: Event<T>) => boolean = () => true) =>
    Effect.async<Event<T>>((resume) => {
      const look = () => {
        const found = heard.find((event) => event.type === type && fits(event as Event<T>)) as Event<T> | undefined
        if (found === undefined) return
        waiting.delete(look)
        resume(Effect.succeed(found))
      }
      waiting.add(look)
      look()
      return Effect.sync(() => waiting.delete(look))
    })
  return { watcher, heard, snapshots, first }
}

const seqsOf = (events: ReadonlyArray<Event>) => events.flatMap(({ seq }) => seq === undefined ? [] : [seq])

const upTo = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index)

const sessions = (make: MakeBackend): void => {
  it.live("makes, finds, renames, copies and deletes sessions", () =>
    Effect.gen(function*() {
      const { sessions } = yield* Backend
      const made = yield* sessions.create({ directory, title: "T", mode: "edits" })
      expect(made).toMatchObject({ directory, title: "T", agent: "build", mode: "edits" })
      yield* sessions.rename(made.id, "New")
      expect(yield* sessions.get(made.id)).toMatchObject({ title: "New", status: { type: "idle" } })
      const { turn } = yield* sessions.prompt(made.id, { words: "Go" })
      expect(yield* turn).toMatchObject({ sessionID: made.id, text: "ok", end: "completed", usage: { steps: 1 } })
      expect(JSON.parse(yield* Stream.mkString(Stream.decodeText(sessions.archive(made.id))))).toMatchObject({
        root: made.id,
        sessions: [{ info: { title: "New" } }]
      })
      const copy = yield* sessions.fork(made.id)
      expect((yield* sessions.messages(copy.id, {})).items).toHaveLength(2)
      expect(yield* sessions.setMode(copy.id, "auto")).toMatchObject({ id: copy.id, mode: "auto" })
      expect((yield* sessions.list({ limit: 1 })).items.map(({ id }) => id)).toEqual([copy.id])
      expect((yield* sessions.list({})).items.map(({ id }) => id).toSorted()).toEqual([made.id, copy.id].toSorted())
      expect(yield* sessions.ids("sessions", made.id.slice(0, -2), 10)).toContain(made.id)
      yield* sessions.remove(made.id)
      expect(yield* Effect.flip(sessions.get(made.id))).toMatchObject({
        _tag: "SessionNotFound",
        message: `There is no session ${made.id}. See \`skein sessions\`.`
      })
    }).pipe(Effect.provide(make({ "*": ["ok"] }))))

  it.live("says with the same words what it refuses", () =>
    Effect.gen(function*() {
      const { asks, projects, sessions, tasks } = yield* Backend
      const missing = SessionID.make("ses_missing")
      const { id } = yield* sessions.create({ directory })
      const refused = yield* Effect.forEach([
        sessions.create({ directory, agent: "nobody" }),
        sessions.prompt(missing, { words: "Go" }),
        sessions.prompt(id, { command: { name: "nothing" } }),
        sessions.compact(id),
        sessions.summarize(id),
        tasks.get(id),
        tasks.stop(missing),
        asks.reply(PermissionID.make("per_missing"), "once"),
        projects.agent(directory, "exploer"),
        projects.modelFor(directory, { model: { providerID: "no", modelID: "such" }, agent: "build" })
      ], (effect) =>
        Effect.flip<
          unknown,
          { readonly _tag: string; readonly reason?: string | undefined; readonly message: string },
          never
        >(
          effect
        ))
      expect(refused.map(({ _tag, reason }) => reason === undefined ? _tag : `${_tag} ${reason}`)).toEqual([
        "AgentNotFound",
        "SessionNotFound",
        "CommandNotFound",
        "CompactionFailed nothing_to_do",
        "SummaryFailed nothing_said",
        "TaskRefused not_found",
        "TaskRefused not_found",
        "PermissionNotFound",
        "AgentNotFound",
        "ModelUnavailable unknown_model"
      ])
      expect(refused[8]?.message).toContain("Did you mean explore?")
      for (const { message } of refused) expect(message).toMatch(/^[A-Z].*[.]/s)
    }).pipe(Effect.provide(make({ "*": ["ok"] }))))

  it.live("tells what a project has", () =>
    Effect.gen(function*() {
      const { projects } = yield* Backend
      const { agents, defaultAgent } = yield* projects.agents(directory)
      expect(defaultAgent).toBe("build")
      expect(agents.find(({ name }) => name === "title")).toMatchObject({ hidden: true })
      expect((yield* projects.commands(directory)).items.map(({ name }) => name)).toContain("init")
      expect(yield* projects.command(directory, "init")).toMatchObject({ origin: "built in" })
      expect(yield* projects.skills(directory)).toEqual({ items: [], broken: [] })
      const [model] = yield* projects.models(directory)
      expect(model).toMatchObject({ available: true })
      expect(yield* projects.modelFor(directory, { agent: "build" })).toEqual({
        model: { providerID: model?.providerID, modelID: model?.modelID },
        isUsual: true
      })
      expect(yield* projects.instructions(directory)).toBeUndefined()
    }).pipe(Effect.provide(make({ "*": ["ok"] }))))
}

const prompts = (make: MakeBackend): void => {
  it.live("returns from a prompt once it is stored, and joins one to a session at work", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      yield* Effect.gen(function*() {
        const { sessions } = yield* Backend
        const { id } = yield* sessions.create({ directory })
        const first = yield* sessions.prompt(id, { words: "Go" })
        yield* Deferred.await(began)
        const second = yield* sessions.prompt(id, { words: "And also that" })
        expect((yield* sessions.get(id)).status.type).toBe("busy")
        yield* Deferred.succeed(go, undefined)
        const [one, two] = yield* Effect.all([first.turn, second.turn], { concurrency: 2 })
        expect(two.info.id).toBe(one.info.id)
        const users = (yield* sessions.messages(id, {})).items.filter(({ info }) => info.role === "user")
        expect(users.map(({ info }) => info.id)).toEqual([first.messageID, second.messageID])
      }).pipe(Effect.provide(make({
        "*": () => Effect.zipRight(Deferred.succeed(began, undefined), Effect.as(Deferred.await(go), "ok"))
      })))
    }))

  it.live("prompts once for one key, and refuses another prompt under it", () =>
    Effect.gen(function*() {
      const { sessions } = yield* Backend
      const { id } = yield* sessions.create({ directory })
      const send = (words: string) => sessions.prompt(id, { words, key: "k1" })
      const [one, two] = yield* Effect.all([send("Go"), send("Go")], { concurrency: 2 })
      expect(two.messageID).toBe(one.messageID)
      expect((yield* two.turn).info.id).toBe((yield* one.turn).info.id)
      expect(yield* (yield* send("Go")).turn).toMatchObject({ text: "ok" })
      expect(yield* Effect.flip(send("Stay"))).toMatchObject({ _tag: "PromptInvalid" })
      expect((yield* sessions.messages(id, {})).items).toHaveLength(2)
    }).pipe(Effect.provide(make({ "*": ["ok"] }))))

  it.live("understands names in words, commands, and further parts", () =>
    Effect.gen(function*() {
      const { sessions } = yield* Backend
      const { id } = yield* sessions.create({ directory })
      const named = yield* sessions.prompt(id, {
        words: "Ask @explore",
        text: "piped @general",
        parts: [{ type: "text", text: "file", synthetic: true }]
      })
      yield* named.turn
      const commanded = yield* sessions.prompt(id, { command: { name: "hello", arguments: ["big", "world"] } })
      yield* commanded.turn
      const [first, second] = (yield* sessions.messages(id, {})).items.filter(({ info }) => info.role === "user")
      expect(first?.parts.slice(0, 2)).toMatchObject([
        { type: "text", text: "Ask @explore" },
        { type: "text", text: "piped @general", synthetic: true }
      ])
      expect(first?.parts.filter(({ type }) => type === "agent")).toMatchObject([{ name: "explore" }])
      expect(first?.parts.at(-1)).toMatchObject({ type: "text", text: "file" })
      expect(second?.parts[0]).toMatchObject({ type: "text", text: "Say hello to big world" })
    }).pipe(Effect.provide(make({ "*": ["ok"] }, {
      commands: () =>
        Effect.succeed({
          commands: [{ name: "hello", template: "Say hello to $ARGUMENTS", origin: "test", hides: [] }],
          broken: []
        })
    }))))

  it.live("reads all messages, the newest, and the newest before one", () =>
    Effect.gen(function*() {
      const { sessions } = yield* Backend
      const { id } = yield* sessions.create({ directory })
      for (const words of ["one", "two", "three"]) yield* (yield* sessions.prompt(id, { words })).turn
      const { items: all, next } = yield* sessions.messages(id, {})
      expect([all.length, next]).toEqual([6, undefined])
      const read: Array<MessageWithParts> = []
      yield* eachPage((page) => sessions.messages(id, { ...page, limit: 4 }), (items) =>
        Effect.sync(() => void read.push(...items)))
      expect(read).toEqual(all)
      const newest = (count: number, at?: number) =>
        Effect.map(
          sessions.messages(id, { newest: count, ...(at === undefined ? {} : { before: all[at]!.info.id }) }),
          (page) => [page.items, page.next]
        )
      expect(yield* newest(2)).toEqual([all.slice(4), all[4]!.info.id])
      expect(yield* newest(3, 4)).toEqual([all.slice(1, 4), all[1]!.info.id])
      expect(yield* newest(3, 1)).toEqual([all.slice(0, 1), undefined])
      expect(yield* newest(100)).toEqual([all, undefined])
    }).pipe(Effect.provide(make({ "*": ["ok"] }))))

  it.live("stops a session, and says so to who waits for its turn", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      yield* Effect.gen(function*() {
        const { sessions } = yield* Backend
        const { id } = yield* sessions.create({ directory })
        const { turn } = yield* sessions.prompt(id, { words: "Go" })
        yield* Deferred.await(began)
        yield* sessions.stop(id, "SIGTERM")
        expect(yield* Effect.flip(turn)).toMatchObject({
          _tag: "SessionStopped",
          message: expect.stringContaining(id)
        })
        expect(yield* sessions.get(id)).toMatchObject({ status: { type: "idle" }, turn: { ended: { how: "stopped" } } })
        expect(yield* sessions.rest(id).pipe(Effect.exit)).toMatchObject({ _tag: "Failure" })
      }).pipe(Effect.provide(make({ "*": () => Effect.as(Deferred.succeed(began, undefined), { hangs: true }) })))
    }))

  it.live("denies what is asked where nobody attends, until the turn has ended", () =>
    Effect.gen(function*() {
      const { asks, sessions } = yield* Backend
      const { id } = yield* sessions.create({ directory })
      const denied = yield* sessions.prompt(id, { words: "Go", unattended: "turn" })
      expect(yield* denied.turn).toMatchObject({ text: "well" })
      const calls = (yield* sessions.messages(id, {})).items.flatMap(({ parts }) =>
        parts.flatMap((part) => part.type === "tool" ? [part.state] : [])
      )
      expect(calls).toMatchObject([{ status: "error", error: { tag: "permission" } }])
      const ear = makeEar()
      yield* (yield* Backend).watch.tree(id, ear.watcher)
      const asked = yield* sessions.prompt(id, { words: "Again" })
      const { properties } = yield* ear.first("permission.asked")
      expect((yield* asks.pending(id, {})).items).toMatchObject([{ type: "permission", id: properties.id }])
      yield* asks.reply(properties.id, "once")
      expect(yield* asked.turn).toMatchObject({ text: "well" })
    }).pipe(
      Effect.scoped,
      Effect.provide(make({
        "*": ({ messages }) => messages.at(-1)?.role === "tool" ? "well" : Scripted.call("change", {})
      }, { tools: [asking] }))
    ))
}

const steering = (make: MakeBackend): void => {
  it.live("keeps what waits for an agent at work, tells all who watch, and withdraws it", () =>
    Effect.gen(function*() {
      const { asks, sessions, watch } = yield* Backend
      const { first, snapshots, watcher } = makeEar()
      const { id } = yield* sessions.create({ directory })
      yield* watch.tree(id, watcher)
      const one = yield* sessions.prompt(id, { words: "one" })
      const asked = yield* first("permission.asked")
      const queued = yield* sessions.prompt(id, { words: "queued", after: "turn" })
      const taken = yield* sessions.prompt(id, { words: "taken back" })
      const waiting = [{ id: queued.messageID, text: "queued", after: "turn" }, {
        id: taken.messageID,
        text: "taken back"
      }]
      expect((yield* first("inbox.updated", ({ properties }) => properties.waiting.length === 2)).properties).toEqual({
        waiting
      })
      expect((yield* watch.snapshot(id)).waiting).toEqual(waiting)
      expect(snapshots[0]?.waiting).toEqual([])
      expect(yield* sessions.withdraw(id, taken.messageID)).toEqual({ status: "withdrawn", text: "taken back" })
      expect(yield* sessions.withdraw(id, taken.messageID)).toEqual({ status: "gone" })
      expect(yield* Effect.exit(taken.turn)).toSatisfy(Exit.isFailure)
      yield* asks.reply(asked.properties.id, "once")
      expect(yield* one.turn).toMatchObject({ text: "answered one" })
      expect(yield* queued.turn).toMatchObject({ text: "answered queued" })
      yield* first("inbox.updated", ({ properties }) => properties.waiting.length === 0)
    }).pipe(
      Effect.scoped,
      Effect.provide(make({
        "*": ({ messages }) => {
          const texts = messages.flatMap((each) =>
            each.role === "user" ? each.content.flatMap((part) => part.type === "text" ? [part.text] : []) : []
          )
          return messages.some(({ role }) => role === "tool")
            ? `answered ${texts.at(-1)}`
            : Scripted.call("change", {})
        }
      }, { tools: [asking] }))
    ))
}

const watching = (make: MakeBackend): void => {
  it.live("tells a new session's events from the first, each once and in order", () =>
    Effect.gen(function*() {
      const { sessions, watch } = yield* Backend
      const ear = makeEar()
      const { id } = yield* watch.made(sessions.create({ directory, title: "T" }), ear.watcher)
      const { turn } = yield* sessions.prompt(id, { words: "Go" })
      yield* turn
      const { seq } = yield* ear.first("session.idle")
      expect(ear.heard[0]).toMatchObject({ type: "session.created", seq: 1, sessionID: id })
      expect(seqsOf(ear.heard)).toEqual(upTo(1, seq ?? 0))
      expect(ear.heard.map(({ type }) => type)).toContain("message.part.delta")
    }).pipe(Effect.scoped, Effect.provide(make({ "*": [Scripted.text("one two three", { pieces: 3 })] }))))

  it.live("tells nothing more once the scope of the watcher is closed", () =>
    Effect.gen(function*() {
      const { sessions, watch } = yield* Backend
      const { id } = yield* sessions.create({ directory })
      const ear = makeEar()
      yield* Effect.scoped(watch.tree(id, ear.watcher))
      const other = makeEar()
      yield* watch.tree(id, other.watcher)
      yield* sessions.rename(id, "New")
      yield* other.first("session.updated")
      expect(ear.heard).toEqual([])
    }).pipe(Effect.scoped, Effect.provide(make({ "*": ["ok"] }))))

  it.live("gives a snapshot, and then what comes after it", () =>
    Effect.gen(function*() {
      const { asks, sessions, watch } = yield* Backend
      const ear = makeEar()
      const { id } = yield* watch.made(sessions.create({ directory, title: "T" }), ear.watcher)
      const { turn } = yield* sessions.prompt(id, { words: "Go" })
      const asked = yield* ear.first("permission.asked")
      const late = makeEar()
      yield* watch.tree(asked.sessionID, { ...late.watcher, deltas: false })
      const [tree] = late.snapshots
      expect(tree).toMatchObject({
        rootID: id,
        sessions: [{ id, depth: 0 }, { agent: "general", depth: 1 }],
        tasks: [{ agent: "general", state: "running" }],
        asks: [{ type: "permission", id: asked.properties.id, path: ["build", "general"] }]
      })
      yield* asks.reply(asked.properties.id, "always", { scope: "project" })
      yield* turn
      const { seq } = yield* late.first("session.idle", ({ sessionID }) => sessionID === id)
      expect(seqsOf(late.heard)).toEqual(upTo((tree?.seq ?? 0) + 1, seq ?? 0))
      expect(late.heard.map(({ type }) => type)).not.toContain("message.part.delta")
      const { projectID } = yield* sessions.get(id)
      const { items: [approval] } = yield* asks.approvals(projectID, id, {})
      expect(approval).toMatchObject({ permission: "change", pattern: "it" })
      yield* asks.revoke(projectID, approval?.id ?? "")
      expect((yield* asks.approvals(projectID, undefined, {})).items).toEqual([])
    }).pipe(
      Effect.scoped,
      Effect.provide(make({
        build: [Scripted.tasks({ general: "Work" }), "all done"],
        general: [Scripted.call("change", {}), "worked"]
      }, { tools: [asking] }))
    ))

  it.live("lets the first of two answers count, and tells both that watch", () =>
    Effect.gen(function*() {
      const { asks, sessions, watch } = yield* Backend
      const [one, other] = [makeEar(), makeEar()]
      const { id } = yield* watch.made(sessions.create({ directory }), one.watcher)
      yield* watch.tree(id, other.watcher)
      const { turn } = yield* sessions.prompt(id, { words: "Go" })
      const { properties } = yield* one.first("permission.asked")
      yield* asks.reply(properties.id, "once")
      expect(yield* Effect.flip(asks.reply(properties.id, "reject"))).toMatchObject({ _tag: "PermissionNotFound" })
      expect(yield* other.first("permission.replied")).toMatchObject({ properties: { reply: "once" } })
      yield* turn
    }).pipe(
      Effect.scoped,
      Effect.provide(make({ "*": [Scripted.call("change", {}), "done"] }, { tools: [asking] }))
    ))
}

const tasking = (make: MakeBackend): void => {
  const background = {
    calls: [{
      tool: "task",
      input: { description: "a task", prompt: "Work", subagent_type: "general", background: true }
    }]
  }

  it.live("lists, tells, stops and awaits tasks", () =>
    Effect.gen(function*() {
      const { sessions, tasks, watch } = yield* Backend
      const ear = makeEar()
      const { id } = yield* watch.made(sessions.create({ directory }), ear.watcher)
      const { turn } = yield* sessions.prompt(id, { words: "Go" })
      yield* turn
      const { items: [run] } = yield* tasks.list(id, {})
      const taskID = run?.taskID ?? id
      expect(run).toMatchObject({ parentID: id, agent: "general", background: true })
      expect(yield* tasks.get(taskID)).toMatchObject({ runs: [{ taskID }], doing: expect.any(String) })
      expect(yield* tasks.message(taskID, "Hurry")).toMatchObject({ status: "steered" })
      expect(yield* tasks.wait(taskID, 1)).toEqual({ settled: [], pending: [taskID] })
      expect(yield* Effect.exit(tasks.promote(taskID))).toSatisfy(Exit.isFailure)
      expect(yield* tasks.stop(taskID, "enough")).toMatchObject([{ taskID, status: "stopped" }])
      expect(yield* tasks.wait(taskID, 60_000)).toMatchObject({ settled: [{ taskID, status: "stopped" }], pending: [] })
      yield* sessions.rest(id)
    }).pipe(
      Effect.scoped,
      Effect.provide(make({
        build: [background, "began it", "all done"],
        general: [{ hangs: true }, "so far"]
      }))
    ))
}

/** Runs the suite. */
export const conformance = (name: string, make: MakeBackend): void => {
  describe(`${name}: sessions`, () => sessions(make))
  describe(`${name}: prompts`, () => prompts(make))
  describe(`${name}: steering`, () => steering(make))
  describe(`${name}: watching`, () => watching(make))
  describe(`${name}: tasks`, () => tasking(make))
}
