import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { exportTree } from "@skein/core/SessionArchive"
import { SessionStorage } from "@skein/core/SessionStorage"
import { type TreeStep, type WorkspaceKeeper, Workspaces } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { importText } from "./support/archive.ts"
import { root } from "./support/tree.ts"

const workspace = { remote: "https://git.example/b.git", inside: "" }

/** A keeper that notes what it is asked for. */
const keeper = (failures: ReadonlyArray<string | undefined> = []) => {
  const steps: Array<TreeStep> = []
  const forgotten: Array<SessionID> = []
  const none = () => Effect.die("not used")
  const service: WorkspaceKeeper = {
    origin: (_, settings) => Effect.succeed(settings.workspace === "git" ? workspace : undefined),
    keep: (step, told) =>
      Effect.suspend(() => {
        steps.push(step)
        return told(failures[steps.length - 1])
      }),
    fetch: none,
    claim: none,
    discard: none,
    forget: (rootID) => Effect.sync(() => void forgotten.push(rootID)),
    settled: Effect.void
  }
  return { steps, forgotten, layer: Layer.succeed(Workspaces, service) }
}

const tools = [
  SkeinTest.tool("look", () => Effect.succeed("seen")),
  SkeinTest.tool("change", () => Effect.succeed("changed"), { effect: "never" })
]

const provide = (
  scripts: SkeinTest.Scripts,
  { layer }: Pick<ReturnType<typeof keeper>, "layer">,
  config: object = { workspace: "git" }
) => Effect.provide(SkeinTest.layer(scripts, { tools, config, workspaces: layer, agents: [SkeinTest.agent("worker")] }))

const change = { calls: [{ tool: "change", input: {} }] }
const look = { calls: [{ tool: "look", input: {} }] }

const stored = (id: SessionID) =>
  Effect.map(Effect.flatMap(SessionStorage, (storage) => storage.session(id)), (info) => Option.getOrThrow(info))

describe("the files of a tree", () => {
  it.effect("are kept at the beginning of a turn, and after a step that may have changed them", () => {
    const kept = keeper()
    return Effect.gen(function*() {
      const session = yield* Session
      const storage = yield* SessionStorage
      const { directory, id } = yield* root()
      yield* session.prompt(id, "Go")
      const step = { rootID: id, directory, workspace, epoch: 1 }
      expect(kept.steps).toMatchObject([step, step])
      // Not before what the step did is stored.
      const events = yield* storage.events({ rootID: id, after: 0, types: ["message.part.updated"] })
      const ends = events.flatMap(({ event, seq }) =>
        event.type === "message.part.updated" && event.properties.part.type === "tool"
          && event.properties.part.tool === "change" && event.properties.part.state.status === "completed"
          ? [seq]
          : []
      )
      expect(kept.steps[1]?.seq).toBeGreaterThanOrEqual(ends[0] ?? Number.POSITIVE_INFINITY)
    }).pipe(provide({ build: [look, change, "done"] }, kept))
  })

  it.effect("are kept after the step of a subagent", () => {
    const kept = keeper()
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* session.prompt(id, "Go")
      // At the beginning, after the subagent's step, and after the task.
      expect(kept.steps.map(({ rootID }) => rootID)).toEqual([id, id, id])
    }).pipe(
      provide({
        build: [
          { calls: [{ tool: "task", input: { subagent_type: "worker", description: "d", prompt: "p" } }] },
          "done"
        ],
        worker: [change, "done"]
      }, kept)
    )
  })

  it.effect("are not kept without the setting", () => {
    const kept = keeper()
    return Effect.gen(function*() {
      const session = yield* Session
      const { id, workspace: none } = yield* root()
      yield* session.prompt(id, "Go")
      yield* session.remove(id)
      expect({ none, steps: kept.steps, forgotten: kept.forgotten }).toEqual({
        none: undefined,
        steps: [],
        forgotten: []
      })
    }).pipe(provide({ build: [change, "done"] }, kept, {}))
  })

  it.scoped("say at the root why they are not kept, until they are", () => {
    const kept = keeper([undefined, "no way", "no way", undefined])
    return Effect.gen(function*() {
      const session = yield* Session
      const events = yield* record()
      const { id } = yield* root()
      yield* session.prompt(id, "Go")
      const failures = events.all.flatMap((event) =>
        event.type === "session.updated" ? [event.properties.info.workspace?.failure] : []
      )
      const changes = failures.filter((failure, at) => at === 0 || failure !== failures[at - 1])
      expect(changes).toEqual([undefined, "no way", undefined])
      expect((yield* stored(id)).workspace).toEqual(workspace)
    }).pipe(
      provide({ build: [...[1, 2, 3].map((n) => ({ calls: [{ tool: "change", input: { n } }] })), "done"] }, kept)
    )
  })

  it.effect("of a deleted session are forgotten, and an imported one sends them nowhere", () => {
    const kept = keeper([undefined, "no way"])
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* session.prompt(id, "Go")
      expect((yield* stored(id)).workspace).toEqual({ ...workspace, failure: "no way" })
      expect((yield* session.fork(id)).workspace).toEqual(workspace)
      const pieces: Array<string> = []
      yield* exportTree(id, (piece) => Effect.sync(() => void pieces.push(piece)))
      const copy = yield* importText(pieces.join(""), { copy: true })
      expect((yield* stored(copy.id)).workspace).toBeUndefined()
      yield* session.remove(id)
      expect(kept.forgotten).toEqual([id])
    }).pipe(provide({ build: [change, "done"] }, kept))
  })
})
