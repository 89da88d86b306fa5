/** Owns which version of a file each session has seen, so that no session overwrites what it has not seen. */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { crc32 } from "node:zlib"

/** The length and a checksum, which shows accidental changes. Cryptographic hashes would cost some milliseconds at start. */
export const fingerprint = (bytes: Uint8Array): string => `${bytes.length}:${crc32(bytes)}`

/** How many files are remembered over all sessions. Older ones have to be read again. */
const maximumSeen = 100_000

/** What sessions have seen of files, and locks for changes. Paths are real paths. */
export class SeenFiles extends Context.Tag("@skein/tools/SeenFiles")<SeenFiles, {
  /** Records that the session has seen or written these bytes. */
  readonly note: (session: SessionID, path: string, bytes: Uint8Array) => void
  /** Whether these bytes are what the session saw last. */
  readonly compare: (session: SessionID, path: string, bytes: Uint8Array) => "unseen" | "same" | "changed"
  /** Forgets what the session has seen of the file. */
  readonly forget: (session: SessionID, path: string) => void
  /** Runs exclusively among changes of these files: parallel calls on one file run one after the other. */
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
      // Always lock in the same order, so that two changes of the same files cannot deadlock.
      alone: (paths) => (effect) =>
        [...new Set(paths)].toSorted().reduceRight((inner, path) => one(path, inner), effect)
    }
  })
}
