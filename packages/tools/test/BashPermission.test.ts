import { describe, expect, layer } from "@effect/vitest"
import { builtins, defaultRules } from "@skein/core/Agent"
import type { Ruleset } from "@skein/domain/Rule"
import { share } from "@skein/testing/Seeds"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { battery, batteryRules } from "./support/bashBattery.ts"
import { decided, layerDecisions } from "./support/decisions.ts"
import { unknownLines } from "./support/lines.ts"
import { Workspace } from "./workspace.ts"

const inert = battery.filter(([, , expected]) => expected === "allow").map(([id]) => id)

/** A repository in the tree whose settings run a program. */
const prepare = Effect.map(Workspace, ({ at }) => {
  if (fs.existsSync(at("sub"))) return
  execFileSync("git", ["init", "-q", at("sub")])
  execFileSync("git", ["-C", at("sub"), "config", "core.fsmonitor", "touch PWNED;false"])
})

describe("a line of the battery", () => {
  layer(layerDecisions)((it) => {
    it.effect.each(battery)(
      "%s %j",
      ([, line, expected]) =>
        Effect.map(Effect.zipRight(prepare, decided(line, batteryRules)), (found) => {
          if (expected === "ask") expect(found).not.toBe("allow")
          else expect(found).toBe(expected)
        })
    )

    const readOnly: ReadonlyArray<readonly [string, Ruleset]> = [
      ["the defaults", defaultRules],
      ...builtins.map(({ name, permission }) => [name, permission] as const)
    ]

    it.effect.each(readOnly)("is not allowed by the rules of %s", ([, rules]) =>
      Effect.gen(function*() {
        const allowed = yield* Effect.filter(battery, ([, line]) =>
          Effect.map(Effect.zipRight(prepare, decided(line, rules)), (found) => found === "allow"))
        expect(allowed.filter(([id]) =>
          !inert.includes(id)
        )).toEqual([])
      }))
  })
})

describe("a line somewhere in which it is not known what is run", () => {
  layer(layerDecisions)((it) => {
    it.effect("is not allowed by any wildcard", () =>
      Effect.forEach(
        FastCheck.sample(unknownLines, { seed: 20_261_121, numRuns: share(300) }),
        (line) => Effect.map(decided(line, "allow"), (found) => expect(found, line).not.toBe("allow")),
        { discard: true }
      ))
  })
})
