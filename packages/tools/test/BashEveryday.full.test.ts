/** Everyday commands are decided on as the table says: most without a question. */
import { describe, expect, layer } from "@effect/vitest"
import { defaultRules } from "@skein/core/Agent"
import { fromConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import { decided, layerDecisions } from "./support/decisions.ts"
import { everyday, programLines, programRules, typicalRules } from "./support/everyday.ts"
import { Workspace } from "./workspace.ts"

/** A project with what most of them have. */
const prepare = Effect.map(Workspace, ({ repo, write }) => {
  for (const file of ["src/a.ts", "src/b.ts", "tests/t.ts", "package.json", "scripts/x.sh", "Makefile"]) {
    write(file, "a\n")
  }
  execFileSync("git", ["init", "-q", repo])
  execFileSync("git", ["config", "remote.origin.url", "https://example.com/a.git"], { cwd: repo })
})

describe("everyday commands", () => {
  layer(layerDecisions)((it) => {
    it.effect("are 300, and under the rules of a user without a sandbox at most 12 are asked for", () =>
      Effect.sync(() => {
        expect(everyday.length).toBeGreaterThanOrEqual(300)
        expect(everyday.filter(({ typically }) => !typically).length).toBeLessThanOrEqual(12)
      }))

    it.effect("in a sandbox are asked for at most 25 times in mode ask, and 5 times in mode edits, by default", () =>
      Effect.gen(function*() {
        yield* prepare
        const questions = (mode: "ask" | "edits") =>
          Effect.filter(
            everyday,
            ({ command }) => Effect.map(decided(command, defaultRules, mode), (found) => found !== "allow")
          )
        const [inAsk, inEdits] = [yield* questions("ask"), yield* questions("edits")]
        expect(inAsk.length, JSON.stringify(inAsk)).toBeLessThanOrEqual(25)
        expect(inEdits.length, JSON.stringify(inEdits)).toBeLessThanOrEqual(5)
      }))

    it.effect("are asked for at most 12 times of 284 where rules name programs", () =>
      Effect.gen(function*() {
        yield* prepare
        const rules = [...defaultRules, ...fromConfig(programRules)]
        const asked = yield* Effect.filter(
          programLines,
          (line) => Effect.map(decided(line, rules), (found) => found !== "allow")
        )
        expect(programLines.length).toBeGreaterThanOrEqual(284)
        expect(asked).toEqual([
          "npm pkg get name",
          "diff -r src tests",
          // No rule names these programs.
          "ps aux | grep node | grep -v grep",
          "lsof -i :3000",
          "du -sh .git"
        ])
      }))

    it.effect("are allowed and asked for as the table says", () =>
      Effect.gen(function*() {
        yield* prepare
        const typical = [...defaultRules, ...fromConfig(typicalRules)]
        const strange: Array<string> = []
        for (const { byDefault, command, typically } of everyday) {
          const [first, second] = [yield* decided(command, defaultRules), yield* decided(command, typical)]
          if ((first === "allow") !== byDefault) strange.push(`by default ${first}: ${command}`)
          if ((second === "allow") !== typically) strange.push(`with rules ${second}: ${command}`)
        }
        expect(strange).toEqual([])
      }))
  })
})
