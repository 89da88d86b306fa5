/** Decides which machine a process or a directory is on: hosts are known by their names, and machines of one name by what tells them apart. */
import * as Either from "effect/Either"

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
