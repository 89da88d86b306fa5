/**
 * Decides which machine a process or a directory is on, and whether the directory of a tree is on this one. Hosts are known
 * by their names, and machines of one name by what tells them apart.
 */
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo, SessionStatus } from "@skein/domain/SessionInfo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"

/** A machine. */
export interface Machine {
  /** Its host name, for people. */
  readonly host: string
  /** What tells it from others with that name, if its system knows it. */
  readonly machine?: string | undefined
}

/** How the names of owners and the tables of a cluster write it. */
export const machineKey = ({ host, machine }: Machine): string =>
  machine === undefined ? encodeURIComponent(host) : `${encodeURIComponent(host)}+${machine}`

/** The machine that a key names. Keys of older versions hold the plain host name. */
export const machineOf = (key: string): Machine => {
  const [, name = key, machine] = /^([^+]*)\+(.+)$/.exec(key) ?? []
  const host = Either.getOrElse(Either.try(() => decodeURIComponent(name)), () => name)
  return machine === undefined ? { host } : { host, machine }
}

/** Whether what is on `there` is on the machine `own`. Where nothing but the name is known, the name decides. */
export const isOn = (own: Machine | undefined, there: Machine): boolean =>
  own !== undefined && there.host === own.host && (there.machine === undefined || there.machine === own.machine)

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
