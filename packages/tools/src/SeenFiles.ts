/** Owns what each session has seen of which file, so that none overwrites what it has not seen. */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fingerprint } from "./internal/files/fingerprint.ts"

/** How many files are remembered over all sessions; the session that saw the oldest has to read it again. */
const maximumSeen = 100_000

/** What sessions have seen of files, and who may change one now. Paths are real paths. */
export class SeenFiles extends Context.Tag("@skein/tools/SeenFiles")<SeenFiles, {
  /** The session has seen these bytes, or written them. */
  readonly note: (session: SessionID, path: string, bytes: Uint8Array) => void
  /** Whether what is there now is what the session saw last. */
  readonly compare: (session: SessionID, path: string, bytes: Uint8Array) => "unseen" | "same" | "changed"
  /** The session knows nothing of the file any more. */
  readonly forget: (session: SessionID, path: string) => void
  /** Runs while no other change of any of these files does: parallel calls on one file go one after the other. */
  readonly alone: (paths: ReadonlyArray<string>) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>() {
  /** Remembers as long as the layer lives. */
  static readonly layer: Layer.Layer<SeenFiles> = Layer.sync(SeenFiles, () => {
    const seen = new Map<string, string>()
    const changing = new Map<string, { readonly turn: Effect.Semaphore; users: number }>()
    const keyOf = (session: SessionID, path: string) => `${session}\0${path}`

    const one = <A, E, R>(path: string, effect: Effect.Effect<A, E, R>) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          const entry = changing.get(path) ?? { turn: Effect.unsafeMakeSemaphore(1), users: 0 }
          entry.users++
          changing.set(path, entry)
          return entry
        }),
        (entry) => entry.turn.withPermits(1)(effect),
        (entry) =>
          Effect.sync(() => {
            if (--entry.users === 0) changing.delete(path)
          })
      )

    return {
      note: (session, path, bytes) => {
        const key = keyOf(session, path)
        seen.delete(key)
        seen.set(key, fingerprint(bytes))
        if (seen.size <= maximumSeen) return
        for (const oldest of seen.keys()) {
          seen.delete(oldest)
          return
        }
      },
      compare: (session, path, bytes) => {
        const known = seen.get(keyOf(session, path))
        return known === undefined ? "unseen" : known === fingerprint(bytes) ? "same" : "changed"
      },
      forget: (session, path) => void seen.delete(keyOf(session, path)),
      // Always in the same order, so that two that want the same files never wait for each other.
      alone: (paths) => (effect) =>
        [...new Set(paths)].toSorted().reduceRight((inner, path) => one(path, inner), effect)
    }
  })
}
