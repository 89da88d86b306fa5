/** Finds out whether the files of a session are on the machine that the person sits at: servers may be on other ones. */
import type { BackendError } from "@skein/backend/BackendError"
import * as Effect from "effect/Effect"
import type { Acting } from "./Acting.ts"

/** Where they are, or those of a new session will be, if that is another machine: `the host alpha`. */
export const filesElsewhere = (
  { backend, host: { sees }, model }: Pick<Acting, "backend" | "host" | "model">
): Effect.Effect<string | undefined> =>
  Effect.gen(function*() {
    if (backend.where._tag === "Local") return undefined
    const { host, machine } = model.live?.tree.root.info ?? (yield* backend.machine) ?? nowhere
    if (sees(model.facts.directory, host === undefined ? undefined : { host, machine })) return undefined
    return host === undefined ? "another host" : `the host ${host}`
  }).pipe(Effect.orElseSucceed(() => undefined))

const nowhere = { host: undefined, machine: undefined }

/** Does what needs the files, or says why it cannot. */
export const withFiles = (
  acting: Acting,
  why: (place: string) => string,
  use: Effect.Effect<void, BackendError>
): Effect.Effect<void, BackendError> =>
  Effect.flatMap(
    filesElsewhere(acting),
    (place) => place === undefined ? use : Effect.sync(() => void (acting.model.hint = why(place)))
  )
