/** Finds out whether the files of a session are on the machine that the person sits at: servers may be on other ones. */
import type { BackendError } from "@skein/backend/BackendError"
import * as Effect from "effect/Effect"
import type { Acting } from "./Acting.ts"

/** The host that has them, or would have those of a new session; undefined if it is this one, or not known. */
export const filesElsewhere = (
  { backend, host: { isHere }, model }: Pick<Acting, "backend" | "host" | "model">
): Effect.Effect<string | undefined> =>
  Effect.gen(function*() {
    if (backend.where._tag === "Local") return undefined
    const there = model.live?.tree.root.info ?? (yield* backend.machine)
    if (there?.host === undefined) return undefined
    return isHere({ host: there.host, machine: there.machine }) ? undefined : there.host
  }).pipe(Effect.orElseSucceed(() => undefined))

/** Does what needs the files, or says why it cannot. */
export const withFiles = (
  acting: Acting,
  why: (host: string) => string,
  use: Effect.Effect<void, BackendError>
): Effect.Effect<void, BackendError> =>
  Effect.flatMap(
    filesElsewhere(acting),
    (host) => host === undefined ? use : Effect.sync(() => void (acting.model.hint = why(host)))
  )
