/** Decides whether the directory of a tree is on this machine. */
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Why nobody continues a tree: it waits for the host of its directory, or it cannot be continued. */
export type Awaited = Extract<SessionStatus, { readonly type: "away" | "stuck" }>

/** What a program of several machines knows of directories. */
export interface Places {
  /** Whether the directory of a tree is on another machine, which does not share it with this one. */
  readonly isAway: (root: SessionInfo) => Effect.Effect<boolean>
  /** Says to people why a tree whose directory is away cannot work here, and what to do. */
  readonly explain: (root: SessionInfo) => Effect.Effect<string>
  /** Why nobody continues a tree with unfinished work; undefined if somebody does. */
  readonly awaited: (rootID: SessionID) => Awaited | undefined
}

const everywhere: Places = {
  isAway: () => Effect.succeed(false),
  explain: ({ directory }) => Effect.succeed(`The directory ${directory} is on another host.`),
  awaited: () => undefined
}

/** Where the directories of trees are. */
export class Whereabouts extends Context.Tag("@skein/core/Whereabouts")<
  Whereabouts,
  Places & {
    /** Whether anybody decides it: every directory counts as being here until then. */
    readonly isDecided: () => boolean
    /** From now on these decide it. Before, every directory counts as being here. */
    readonly decideBy: (places: Places) => void
  }
>() {
  /** Every directory is here, until a program of several machines decides it. */
  static readonly layer: Layer.Layer<Whereabouts> = Layer.sync(Whereabouts, () => {
    let places = everywhere
    return {
      isAway: (root) => places.isAway(root),
      explain: (root) => places.explain(root),
      awaited: (rootID) => places.awaited(rootID),
      isDecided: () => places !== everywhere,
      decideBy: (others) => {
        places = others
      }
    }
  })
}
