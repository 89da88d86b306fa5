import { describe, expect, it } from "@effect/vitest"
import { hostOf, machineOfOwner, pidOf, withAddress } from "@skein/core/Owner"
import { isOn, type Machine, machineKey, machineOf } from "@skein/core/Whereabouts"

const ownerOn = (machine: Machine) => `${machineKey(machine)}:77:1:boot.4:x`

describe("a machine", () => {
  it.each(["alpha", "al@pha", "al:pha", "a+b", "100%", "a:1:2:3:4", "http@x", "ünïcode host"])(
    "with the name %s is known from the name of an owner, whatever is in it",
    (host) => {
      for (const machine of [{ host }, { host, machine: "0123456789ab" }]) {
        for (const owner of [ownerOn(machine), withAddress(ownerOn(machine), "http://[fe80::1]:4096")]) {
          expect(machineOfOwner(owner)).toEqual(machine)
          expect([hostOf(owner), pidOf(owner)]).toEqual([host, 77])
        }
      }
    }
  )

  it("is told apart from others with its name, unless nothing but the name is known", () => {
    const own = { host: "alpha", machine: "1" }
    expect(isOn(own, { host: "alpha", machine: "1" })).toBe(true)
    expect(isOn(own, { host: "alpha", machine: "2" })).toBe(false)
    expect(isOn(own, { host: "alpha" })).toBe(true)
    expect(isOn({ host: "alpha" }, own)).toBe(false)
    expect(isOn(own, { host: "beta", machine: "1" })).toBe(false)
    expect(isOn(undefined, own)).toBe(false)
  })

  it("is read from what older versions wrote", () => {
    expect(machineOf("alpha.example.org")).toEqual({ host: "alpha.example.org" })
    expect(machineOf("100%")).toEqual({ host: "100%" })
  })
})
