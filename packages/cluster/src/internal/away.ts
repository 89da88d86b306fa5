/** Decides whether the directory of a tree is on another host, and says what to do there. */
import { machineOfOwner } from "@skein/core/Owner"
import { isOn, type Machine, machineKey } from "@skein/core/Whereabouts"
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import type { isShared } from "./proofs.ts"

/** The directory of a tree, and its host. */
export interface Elsewhere {
  readonly host: string
  /** What tells the host from others of its name. */
  readonly machine?: string | undefined
  readonly directory: string
  /** Set if this machine has the same name. */
  readonly isNamesake?: true
  /** Set if its steps are kept for other hosts. */
  readonly isKept?: true
}

/** Where a tree says that its directory is. */
export const elsewhereOf = (
  { directory, host = "", machine, workspace }: SessionInfo,
  own: Machine | undefined
): Elsewhere => ({
  host,
  ...(machine === undefined ? {} : { machine }),
  directory,
  ...(own?.host === host ? { isNamesake: true } : {}),
  ...(workspace === undefined ? {} : { isKept: true })
})

/** Whether the directory of a tree is on another machine, which does not share it with the machine `own`. */
export const awayFrom =
  (own: Machine | undefined, shares: ReturnType<typeof isShared>) =>
  ({ directory, host, id, machine }: SessionInfo): Effect.Effect<boolean> =>
    host === undefined || isOn(own, { host, machine })
      ? Effect.succeed(false)
      : Effect.map(shares(id, directory, machineKey({ host, machine })), (shared) => !shared)

/** Whether an owner is on the machine of a tree. */
export const isBeside = ({ host = "", machine }: Pick<SessionInfo, "host" | "machine">) => (owner: string): boolean =>
  isOn(machineOfOwner(owner), { host, machine })

const copyText = (rootID: SessionID, host: string): string =>
  `If ${host} is gone permanently, continue with a copy elsewhere: skein sessions export ${rootID} --output tree.json, and there skein sessions import tree.json --as-copy --dir DIR.`

/** Says to the clients of a cluster what a tree waits for, and what to do. */
export const awayText = (rootID: SessionID, { directory, host, isKept, isNamesake }: Elsewhere): string =>
  `The session ${rootID} works in ${directory} on ${
    isNamesake === true ? "another machine with the name" : "the host"
  } ${host}, and no server of this cluster is there. Start one there: skein serve --cluster. ${
    isKept === true
      ? "Its steps are kept in git, so another host can continue it, if `workspace` is \"git\" in the config of the user there; the log of its server says what else is missing. "
      : ""
  }${copyText(rootID, host)}`

/** Says the same to who works outside of a cluster, on the machine `own`; `server` is the URL of a runner on the host of the tree. */
export const awayHereText = (
  rootID: SessionID,
  { directory, host, isKept, isNamesake }: Elsewhere,
  { own, server }: { readonly own: Machine | undefined; readonly server: string | undefined }
): string =>
  `The session ${rootID} works in ${directory} on the host ${host}, and this is ${
    isNamesake === true ? "another machine with that name" : `the host ${own?.host ?? "?"}`
  }, which does not share that directory. ${
    server === undefined
      ? `Continue it on ${host}: skein sessions resume ${rootID}. `
      : `A server is there: continue through it with --attach=${server}, and its token in SKEIN_TOKEN. `
  }${
    isKept === true
      ? "Its steps are kept in git: servers of a cluster, skein serve --cluster, can move it to another host. "
      : ""
  }${copyText(rootID, host)}`
