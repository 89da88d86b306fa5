/** Proves that a stop from another process waits for the run that it names, and is taken only once it holds. */
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { MessageID, RunID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { run, stack } from "./support/sharedStorage.ts"
import { childrenOf, root } from "./support/tree.ts"

it("although another run of the same task is there", () => {
  run((inner) =>
    Effect.gen(function*() {
      let mail: ReadonlyArray<InboxRow> | undefined
      const storage = Layer.succeed(SessionStorage, { ...inner, mail: Effect.sync(() => mail) })
      const script = Scripted.make({
        build: [
          Scripted.call("task", { description: "d", prompt: "p", subagent_type: "worker", background: true }),
          { text: "end", delay: { first: 60_000 } }
        ],
        worker: [{ text: "done", delay: { first: 60_000 } }]
      })
      const here = yield* stack(script, storage)
      const { id } = yield* Effect.provide(root(), here)
      yield* Effect.fork(Effect.exit(Effect.provide(Session.prompt(id, "Go"), here)))
      yield* Effect.sleep(5_000)
      const [child] = yield* Effect.provide(childrenOf(id), here)
      const [first] = (yield* inner.runs({ taskID: child!.id })).rows
      // Its recovery has not come to this run yet.
      const later = { ...first!, id: RunID.make("run_zzzzzzzzzzzzzzzzzzzzzz"), state: "queued" as const }
      const row: InboxRow = {
        id: MessageID.make("msg_00000000000000000000zz"),
        sessionID: child!.id,
        kind: "stop",
        foreign: true,
        parts: [],
        stop: { runID: later.id },
        time: { created: 1 }
      }
      yield* inner.commit([{ _tag: "Run", run: later }, { _tag: "Inbox", row }])
      mail = [row]
      const isWaiting = Effect.map(inner.inbox(child!.id), ({ rows }) => rows.some((each) => each.id === row.id))
      yield* Effect.sleep(2_000)
      expect(yield* isWaiting).toBe(true)
      const { time } = first!
      const outcome = { status: "stopped", by: "the user", taskID: child!.id, runID: later.id, text: "" } as const
      const settled = { ...outcome, usage: child!.usage.own, durationMs: 1 }
      yield* inner.commit([{
        _tag: "Run",
        run: { ...later, state: "settled", outcome: settled, time: { ...time, settled: 2 } }
      }])
      yield* Effect.sleep(2_000)
      expect(yield* isWaiting).toBe(false)
      expect((yield* inner.runs({ taskID: child!.id })).rows[0]).toMatchObject({ state: "running" })
      yield* Effect.provide(Effect.flatMap(Session, (session) => session.stop(id)), here)
    })
  )
})
