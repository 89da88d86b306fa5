/** Removes old data once for each key of a client, which may repeat its request: it is about no session that could keep a receipt. */
import type { Pruned } from "@skein/api/Output"
import type { Problem } from "@skein/api/Problem"
import { receiptLifetime } from "@skein/core/Receipt"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ServerState } from "../ServerState.ts"
import { reused } from "./once.ts"

/** Carries it out, unless this process has done so under that key. It continues if its client disconnects. */
export const pruneOnce = <R>(
  { content, key }: { readonly key: string | undefined; readonly content: unknown },
  prune: Effect.Effect<typeof Pruned.Type, Problem, R>
): Effect.Effect<typeof Pruned.Type, Problem, R | ServerState> =>
  key === undefined ? prune : Effect.gen(function*() {
    const { prunes, scope } = yield* ServerState
    const now = yield* Clock.currentTimeMillis
    for (const [each, { begun }] of prunes) if (begun <= now - receiptLifetime) prunes.delete(each)
    const text = JSON.stringify(content)
    const known = prunes.get(key)
    if (known !== undefined) {
      return yield* known.content === text ? Deferred.await(known.answer) : Effect.fail(reused)
    }
    const answer = yield* Deferred.make<typeof Pruned.Type, Problem>()
    prunes.set(key, { content: text, begun: now, answer })
    const ended = Effect.onExit(prune, (exit) =>
      Effect.sync(() => {
        // What failed may be tried again.
        if (Exit.isFailure(exit)) prunes.delete(key)
        Deferred.unsafeDone(answer, exit)
      }))
    yield* Effect.forkIn(ended, scope)
    return yield* Deferred.await(answer)
  })
