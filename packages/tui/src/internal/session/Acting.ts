/** What those work with who carry out what a session asks for. */
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import type { NewPrompt, Prompted } from "@skein/backend/Sessions"
import type { SessionID } from "@skein/domain/Id"
import type * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Moment } from "../../LiveView.ts"
import type { SessionHost, SessionLeft, SessionRequest, SessionTerminal } from "../../SessionHost.ts"
import type { Request } from "../model/Request.ts"
import type { SessionModel } from "../model/SessionModel.ts"

/** How it begins what a command of the person's own has written, for the model. */
export const heardStart = "The user ran `"

/** What reaches a person outside of what is drawn. */
export interface Signals {
  /** Says something to a person who looks elsewhere. */
  readonly notify: (text: string) => void
  /** Gives the clipboard a text; false where that cannot be done. */
  readonly copy: (text: string) => boolean
}

/** What a performer works with. */
export interface Stage {
  readonly model: SessionModel
  readonly host: SessionHost
  readonly asked: SessionRequest
  readonly size: SessionTerminal["size"]
  readonly signals: Signals
  /** Leaves the terminal to another program, such as an editor, until that has ended. */
  readonly lend: <A, E>(use: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Something has changed: what is to be seen is drawn, and what is to be done is done. */
  readonly touch: () => void
  readonly moment: () => Moment
  readonly left: Deferred.Deferred<SessionLeft>
}

/** What carries requests out. */
export interface Performer {
  readonly perform: (request: Request) => Effect.Effect<void>
  readonly open: (id: SessionID) => Effect.Effect<void, BackendError>
  /** The session that was asked for is open: what was typed meanwhile is for that one, and is carried out now. */
  readonly opened: Effect.Effect<void>
}

/** What the project of the open session has. Without a session, it is that of the directory. */
export const projectsOf = ({ backend, model }: Pick<Acting, "backend" | "model">) => {
  const id = model.live?.tree.root.id
  return id === undefined ? backend.projects : backend.projects.of(id)
}

/** What the parts of a performer share. */
export interface Acting extends Stage {
  readonly backend: typeof Backend.Service
  /** What commands of the person's own have written: the model reads it with the next prompt. */
  readonly heard: Array<string>
  readonly open: (id: SessionID) => Effect.Effect<void, BackendError>
  readonly close: Effect.Effect<void>
  /** The session that is open; made where there is none. */
  readonly ensure: Effect.Effect<SessionID, BackendError>
  /** Sends a prompt to a session: to the agent and model that are chosen, within the limits of the command line. */
  readonly send: (id: SessionID, prompt: NewPrompt) => Effect.Effect<Prompted, BackendError>
  /** Who holds it sends a prompt. */
  readonly sending: Effect.Semaphore
  /** Runs beside everything else; what fails is said. */
  readonly beside: <E extends { readonly message: string }>(effect: Effect.Effect<unknown, E>) => Effect.Effect<void>
}

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
