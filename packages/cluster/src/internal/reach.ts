/** Decides whether two servers can reach each other at the addresses that they name. */
import { isOn } from "@skein/core/Machine"
import { hostOf, machineOfOwner } from "@skein/core/Owner"
import { ServedElsewhere } from "../ServedElsewhere.ts"
import type { Member } from "./entries.ts"

type Server = Pick<Member, "owner" | "url">

const loopback = /^http:\/\/(?:localhost|127\.[\d.]+|\[::1\])(?::|$)/

/** The boot of the system that an owner runs on; undefined if its name does not tell it. */
const bootOf = (owner: string): string | undefined => /:([^:.]+)\.[^:]*:[^:]*$/.exec(owner)?.[1]

/** Whether two servers run on one system. */
const isBeside = (one: string, other: string): boolean => {
  const [boot, otherBoot] = [bootOf(one), bootOf(other)]
  if (boot !== undefined && otherBoot !== undefined) return boot === otherBoot
  const machine = machineOfOwner(other)
  return machine !== undefined && isOn(machineOfOwner(one), machine)
}

/** Why a server must not join another one: an address of one machine alone would lead the other one to itself. */
export const outOfReach = (own: Server, other: Server): ServedElsewhere | undefined => {
  if (isBeside(own.owner, other.owner)) return undefined
  const place = `${other.url} on the host ${hostOf(other.owner) ?? "?"}`
  if (loopback.test(own.url)) {
    return new ServedElsewhere({
      message: `Only this machine reaches ${own.url}, and a server of this cluster is on another one: ${place}. `
        + "Name an address that the others reach: --hostname ADDRESS."
    })
  }
  if (!loopback.test(other.url)) return undefined
  return new ServedElsewhere({
    message: `A server of this cluster has an address that only its own machine reaches: ${place}. `
      + "Start it again with an address that the others reach: --hostname ADDRESS."
  })
}
