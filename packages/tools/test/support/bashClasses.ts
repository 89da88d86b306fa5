/** Lines of bash by what they try, held against what the rules of `decided` say of them. */
import { describe, expect, layer } from "@effect/vitest"
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { Workspace } from "../workspace.ts"
import { decided, layerDecisions } from "./decisions.ts"

const words: Record<Action, string> = { allow: "allowed", ask: "asked for", deny: "denied" }

/** What the lines name: files, links inside and outside, a hard link, and a name like an option. */
const prepare = Effect.map(Workspace, ({ at, top, write }) => {
  if (fs.existsSync(at("a.txt"))) return
  for (const file of ["a.txt", "src/a.ts", "src/b.ts", "sub/x", "package.json", "dash/-x", "../../elsewhere/file"]) {
    write(file, "a\n")
  }
  fs.symlinkSync("/etc", at("link"))
  fs.symlinkSync(`${top}/elsewhere`, at("linked"))
  fs.symlinkSync("src", at("inner"))
  fs.linkSync(`${top}/elsewhere/file`, at("hard"))
})

/** Tests for lines of one kind, all of which are to be decided alike. */
export const describeDecisions = (what: string, expected: Action, lines: ReadonlyArray<string>) =>
  describe(what, () => {
    layer(layerDecisions)((it) => {
      it.effect.each(lines.map((line) => [line.length > 80 ? `${line.slice(0, 77)}…` : line, line] as const))(
        `are ${words[expected]}: %j`,
        ([, line]) =>
          Effect.gen(function*() {
            yield* prepare
            expect(yield* decided(line)).toBe(expected)
          })
      )
    })
  })
