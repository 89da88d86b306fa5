import { lookup } from "@skein/domain/Lookup"
import { expect, it } from "vitest"

it("finds what it was given, and nothing that objects inherit", () => {
  const table = lookup({ read: "a" })
  expect([table["read"], table["constructor"], table["__proto__"], table["toString"]])
    .toEqual(["a", undefined, undefined, undefined])
})
