/** Names the process that holds sessions, knows whether the processes of other owners still exist, and ends their commands. */
import { Ids, type SessionID } from "@skein/domain/Id"
import type { Holder } from "@skein/domain/TreeSnapshot"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Machine, machineOf } from "./Whereabouts.ts"

/** The name of an owner whose API others reach at this URL. */
export const withAddress = (owner: string, url: string): string => `${encodeURIComponent(url)}@${owner}`

const decodeName = Option.liftThrowable(decodeURIComponent)

/** The URL that such a name tells; undefined if it tells none. */
export const addressOf = (owner: string): string | undefined => {
  const [, address] = /^(http[^@]*)@/.exec(owner) ?? []
  return address === undefined ? undefined : Option.getOrUndefined(decodeName(address))
}

const parts = /^(?:http[^@]*@)?([^@]+):([1-9]\d*)(?::[^:]*){3}$/

/** The machine that such a name tells; undefined if it tells none. */
export const machineOfOwner = (owner: string): Machine | undefined => {
  const key = parts.exec(owner)?.[1]
  return key === undefined ? undefined : machineOf(key)
}

/** The host name of that machine. */
export const hostOf = (owner: string): string | undefined => machineOfOwner(owner)?.host

/** The process that such a name tells; undefined if it tells none. */
export const pidOf = (owner: string): number | undefined => {
  const pid = parts.exec(owner)?.[2]
  return pid === undefined ? undefined : Number(pid)
}

/** What people see of an owner. */
export const holderOf = (owner: string): Holder => {
  const [url, host, pid] = [addressOf(owner), hostOf(owner), pidOf(owner)]
  return {
    ...(url === undefined ? {} : { url }),
    ...(host === undefined ? {} : { host }),
    ...(pid === undefined ? {} : { pid })
  }
}

/** This process, among those that share a storage. */
export class Owner extends Context.Tag("@skein/core/Owner")<Owner, {
  /** Unique among all processes, past ones included. Errors about held sessions show it. */
  readonly id: string
  /** Whether that owner has certainly ended. If nobody can know, its lease must expire. */
  readonly isGone: (owner: string) => Effect.Effect<boolean>
  /**
   * Ends the commands that another owner left in a tree, after the tree was taken over: they would go on while the next
   * owner reports that their outcome is unknown. False if they may still run, because nothing reaches them from here.
   */
  readonly evict: (owner: string, rootID: SessionID) => Effect.Effect<boolean>
}>() {
  /** A random name; knows nothing about others. */
  static readonly layer: Layer.Layer<Owner, never, Ids> = Layer.effect(
    Owner,
    Effect.map(Effect.flatMap(Ids, (ids) => ids.make("own")), (id) => ({
      id,
      isGone: () => Effect.succeed(false),
      evict: () => Effect.succeed(false)
    }))
  )
}
