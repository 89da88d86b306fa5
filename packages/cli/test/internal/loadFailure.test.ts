import { expect, it } from "vitest"
import { loadFailure } from "../../src/internal/loadFailure.ts"

it("advises to install again only if the program may be incomplete", () => {
  expect(loadFailure(new Error("Cannot find module 'x'"))).toBe(
    "A part of the program cannot be loaded (Cannot find module 'x'). Install it again."
  )
  for (const reason of ["Cannot read package config /x/package.json: too many open files.", "EMFILE: open '/x'"]) {
    expect(loadFailure(new Error(reason))).toContain("ulimit -n")
    expect(loadFailure(new Error(reason))).not.toContain("Install")
  }
})
