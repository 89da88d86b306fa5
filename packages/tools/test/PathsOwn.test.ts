/** Files that no tool changes without a person: Skein's own, and what programs of the user go by in the home. */
import * as NodeContext from "@effect/platform-node/NodeContext"
import { describe, expect, it } from "@effect/vitest"
import type { ToolCaller } from "@skein/core/Tool"
import { Paths } from "@skein/tools/Paths"
import { SpillFiles } from "@skein/tools/SpillFiles"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"

/** A home with a project in it, and one that is linked to. */
const world = Effect.acquireRelease(
  Effect.sync(() => {
    const top = fs.realpathSync(fs.mkdtempSync(path.join(tmpdir(), "skein-own-")))
    const home = path.join(top, "home")
    const data = path.join(home, ".local/share/skein")
    for (const each of [data, path.join(home, "project"), path.join(home, ".config/nvim")]) {
      fs.mkdirSync(each, { recursive: true })
    }
    fs.symlinkSync(home, path.join(top, "link"))
    return { top, home, data }
  }),
  ({ top }) => Effect.sync(() => fs.rmSync(top, { recursive: true }))
)

describe("a tool that changes a file asks each time", () => {
  it.scopedLive("for what is Skein's own or lies hidden in the home, from wherever it works", () =>
    Effect.gen(function*() {
      const { data, home, top } = yield* world
      const project = path.join(home, "project")
      const own = [data, path.join(project, "mine.db"), path.join(project, "mine.db-wal")]
      const environment = { PATH: [path.join(top, "tools"), path.join(project, "scripts"), "bin"].join(":") }
      const layer = Paths.layer({ home, own, dataDirectory: data, environment }).pipe(
        Layer.provide(SpillFiles.layer(data)),
        Layer.provide(NodeContext.layer)
      )
      const isProtected = (directory: string, given: string) =>
        Effect.map(
          Effect.flatMap(Paths, ({ decide }) =>
            decide(given, { directory, sessionID: "ses_1" } as unknown as ToolCaller)),
          (target) =>
            target.protected
        )
      yield* Effect.gen(function*() {
        const table: ReadonlyArray<readonly [directory: string, given: string, expected: boolean]> = [
          [home, ".local/share/other/trust.json", true],
          [home, ".ssh/authorized_keys", true],
          [home, ".npmrc", true],
          [home, ".cache/x", true],
          [home, "project/a.ts", false],
          [home, ".skein/plans/a.md", false],
          [path.join(top, "link"), ".ssh/authorized_keys", true],
          [top, "home/notes.txt", true],
          [top, "other.txt", false],
          [project, "~/.ssh/authorized_keys", true],
          [project, "../.npmrc", true],
          [project, "../notes.txt", false],
          [project, "~/.tmux.conf", true],
          [project, "~/.oh-my-zsh/custom/x.zsh", true],
          [project, "~/bin/git", true],
          [project, "~/node_modules/x/index.js", true],
          [project, "~/other/bin/x", false],
          // Directories on the PATH, except those of the project.
          [project, "../../tools/git", true],
          [project, "../../tools/more/x", true],
          [project, "../../tools2/x", false],
          [project, "scripts/x", false],
          [project, "bin/x", false],
          [top, "tools/x", false],
          [project, ".npmrc", true],
          [project, "mine.db", true],
          [project, "mine.db-wal", true],
          [project, "mine.db2", false],
          [path.join(home, ".config/nvim"), "init.lua", false],
          [path.join(home, ".config/nvim"), "../../.ssh/config", true],
          // An isolated task works below the data directory.
          [path.join(data, "worktrees/0123456789abcdef/ses_1"), "file.ts", false],
          [path.join(data, "worktrees/0123456789abcdef/ses_1"), "../ses_2/file.ts", true]
        ]
        for (const [directory, given, expected] of table) {
          fs.mkdirSync(path.dirname(path.resolve(directory, given.replace(/^~/, home))), { recursive: true })
          fs.mkdirSync(directory, { recursive: true })
          expect(yield* isProtected(directory, given), `${given} in ${directory}`).toBe(expected)
        }
      }).pipe(Effect.provide(layer))
    }))
})
