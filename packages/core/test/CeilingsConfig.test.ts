/** Config may change while a task runs: that can only narrow the task's permissions. */
import { describe, expect, it } from "@effect/vitest"
import { Permission } from "@skein/core/Permission"
import * as Skein from "@skein/core/Skein"
import { Tasks } from "@skein/core/Tasks"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { PermissionConfig } from "@skein/domain/Rule"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { agent } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { results, touch, touching, waiting } from "./support/asking.ts"
import { changing } from "./support/changing.ts"
import { childrenOf, root } from "./support/tree.ts"

const forbidden = expect.stringMatching(/(?:a rule|plan mode) forbids/)

const allowed = { edit: "allow", task: "allow" } as const
const docs = { ...allowed, edit: { "*": "deny", docs: "allow" } } as const
const chief = (permission: PermissionConfig) => agent("chief", { mode: "primary", permission })
const worker = (permission: PermissionConfig) => agent("worker", { permission })

/** A task that edits before and after config changes, and once more in another run. */
const run = (before: ReadonlyArray<AgentInfo>, after: ReadonlyArray<AgentInfo>) => {
  const { change, layer } = changing({ agents: before }, { agents: after })
  const script = Scripted.make({
    worker: [touching("before"), { ...touching("after"), delay: { first: 1_000 } }, "ok", touching("resumed"), "ok"]
  })
  return Effect.gen(function*() {
    const tasks = yield* Tasks
    const { id } = yield* root({ agent: "chief" })
    const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
    const fiber = yield* Effect.fork(tasks.run(request))
    yield* TestClock.adjust(500)
    yield* change
    yield* TestClock.adjust("1 minute")
    const { taskID } = yield* Fiber.join(fiber)
    yield* tasks.run({ ...request, taskID })
    return yield* results(taskID)
  }).pipe(Effect.provide(Skein.layer({
    provider: script.layer,
    agents: layer,
    tools: Effect.succeed([touch]),
    permission: { asks: "nobody" }
  })))
}

describe("config that changes", () => {
  it.effect("narrows a running task, through agents above it and its own definition", () =>
    Effect.gen(function*() {
      const narrowed = ["touched before", forbidden, forbidden]
      const free = [chief(allowed), worker(allowed)]
      expect(yield* run(free, [chief(docs), worker(allowed)])).toEqual(narrowed)
      expect(yield* run(free, [chief(allowed), worker(docs)])).toEqual(narrowed)
    }))

  it.effect("widens only its next run", () =>
    Effect.gen(function*() {
      const widened = [forbidden, forbidden, "touched resumed"]
      const free = [chief(allowed), worker(allowed)]
      expect(yield* run([chief(docs), worker(allowed)], free)).toEqual(widened)
      expect(yield* run([chief(allowed), worker(docs)], free)).toEqual(widened)
    }))

  it.scoped("leaves nothing to an agent that no longer exists, whatever a person answers", () => {
    const asking = { ...allowed, edit: "ask" } as const
    const { change, layer } = changing({ agents: [chief(allowed), worker(asking)] }, { agents: [chief(allowed)] })
    return Effect.gen(function*() {
      const { id } = yield* root({ agent: "chief" })
      const events = yield* record()
      const tasks = yield* Tasks
      const fiber = yield* Effect.fork(
        tasks.run({ parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true })
      )
      yield* events.first("permission.asked")
      yield* change
      const [request] = yield* waiting
      yield* Permission.reply(request!.id, "once")
      yield* Fiber.join(fiber)
      const [child] = yield* childrenOf(id)
      expect(yield* results(child!.id)).toEqual([forbidden])
    }).pipe(Effect.provide(Skein.layer({
      provider: Scripted.layer({ worker: [touching("a"), "ok"] }),
      agents: layer,
      tools: Effect.succeed([touch]),
      permission: { asks: "person" }
    })))
  })
})
