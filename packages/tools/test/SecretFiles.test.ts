/** Files of Skein's own that no call sees, by whatever name, and config that only a person shows. */
import * as NodeContext from "@effect/platform-node/NodeContext"
import { describe, expect, it } from "@effect/vitest"
import type { ToolCaller } from "@skein/core/Tool"
import { Paths, type Target } from "@skein/tools/Paths"
import { SpillFiles } from "@skein/tools/SpillFiles"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { enterPlace } from "../src/internal/secretFiles.ts"
import { layerIn, runIn, works, worldIn } from "./support/sandbox.ts"

/** A home with Skein's files in it, a project, and a token in the project. */
const world = Effect.acquireRelease(
  Effect.sync(() => {
    const top = fs.realpathSync(fs.mkdtempSync(path.join(tmpdir(), "skein-secret-")))
    const [data, config, project] = ["home/data/skein", "home/config/skein", "home/project"]
      .map((each) => path.join(top, each)) as [string, string, string]
    const files = [
      ...["skein.db", "servers/a.json", "spill/ses_1/a.out", "spill/ses_2/b.out"].map((name) => path.join(data, name)),
      ...[
        "steps/ses_1.git/config",
        "workspaces/ses_1/tree-a/file.ts",
        "worktrees/0123456789abcdef/ses_1/file.ts",
        "worktrees/0123456789abcdef/ses_1.json"
      ].map((name) => path.join(data, name)),
      ...["skein.json", "AGENTS.md", "skills/a/table.csv"].map((name) => path.join(config, name)),
      ...["token", "a.ts"].map((name) => path.join(project, name))
    ]
    for (const file of files) {
      fs.mkdirSync(path.dirname(file), { recursive: true })
      fs.writeFileSync(file, path.basename(file))
    }
    fs.symlinkSync(path.join(data, "servers"), path.join(project, "link"))
    fs.linkSync(path.join(data, "servers", "a.json"), path.join(project, "hard"))
    // A tool that keeps config files in one place makes links like this one.
    fs.symlinkSync(path.join(project, "a.ts"), path.join(data, "trust.json"))
    const layer = Paths.layer({
      home: path.join(top, "home"),
      own: [data, config],
      dataDirectory: data,
      secret: [path.join(project, "token"), path.join(top, "later", "token")],
      settings: config
    }).pipe(Layer.provide(SpillFiles.layer(data)), Layer.provide(NodeContext.layer))
    return { top, data, config, project, layer }
  }),
  ({ top }) => Effect.sync(() => fs.rmSync(top, { recursive: true }))
)

const deciding = (directory: string, given: string) =>
  Effect.either(
    Effect.flatMap(Paths, ({ decide }) => decide(given, { directory, sessionID: "ses_1" } as unknown as ToolCaller))
  )

describe("a call", () => {
  it.scopedLive("reaches no secret file, whatever its path and wherever the call is made", () =>
    Effect.gen(function*() {
      const { data, layer, project, top } = yield* world
      fs.symlinkSync(top, path.join(top, "again"))
      const worktree = path.join(data, "worktrees/0123456789abcdef/ses_1")
      const workspace = path.join(data, "workspaces", "ses_1", "tree-a")
      const secret: ReadonlyArray<readonly [directory: string, given: string]> = [
        [project, path.join(data, "skein.db")],
        [project, "~/data/skein/servers/a.json"],
        [project, "../data/skein/servers"],
        [project, "../data/skein"],
        [project, "link/a.json"],
        [project, "hard"],
        [project, "token"],
        [project, path.join(top, "again/home/project/token")],
        [project, `/proc/self/root${data}/skein.db`],
        [project, `file://${data}/skein.db`],
        [project, path.join(data, "trust.json")],
        [project, path.join(data, "not-yet.json")],
        [project, path.join(top, "later/token")],
        [project, "/proc/self/environ"],
        [data, "skein.db"],
        [worktree, "../ses_1.json"],
        [worktree, "../y.base"],
        [project, path.join(data, "worktrees")],
        [worktree, "../../../servers/a.json"],
        [workspace, "../../../servers/a.json"],
        [workspace, "../../../steps/ses_1.git/config"],
        [project, path.join(data, "steps/ses_1.git/config")],
        [top, "home/data/skein/skein.db"]
      ]
      const open: ReadonlyArray<readonly [directory: string, given: string]> = [
        [project, "a.ts"],
        [project, "~/data"],
        [project, path.join(data, "spill/ses_1/a.out")],
        [project, path.join(data, "spill/ses_2/b.out")],
        [project, path.join(worktree, "file.ts")],
        [worktree, "file.ts"],
        [workspace, "file.ts"],
        [workspace, "not-yet.ts"],
        [project, "/proc/self/status"]
      ]
      yield* Effect.gen(function*() {
        for (const [directory, given] of secret) {
          expect(yield* deciding(directory, given), `${given} in ${directory}`).toMatchObject({
            _tag: "Left",
            left: { kind: "own_file", message: expect.stringContaining(given) }
          })
        }
        for (const [directory, given] of open) {
          expect((yield* deciding(directory, given))._tag, `${given} in ${directory}`).toBe("Right")
        }
      }).pipe(Effect.provide(layer))
    }))

  it.scopedLive("reaches no file of another program of Skein, by its entry in the register or by its form", () =>
    Effect.gen(function*() {
      const { data, layer, project, top } = yield* world
      const other = path.join(top, "other/skein")
      const record = path.join(other, "servers/0123456789abcdef.json")
      const token = path.join(top, "other/token")
      for (const file of [record, token, path.join(other, "history/a.jsonl")]) {
        fs.mkdirSync(path.dirname(file), { recursive: true })
        fs.writeFileSync(file, "SECRET")
      }
      fs.linkSync(path.join(other, "history/a.jsonl"), path.join(project, "hard-history"))
      const kinds = (given: ReadonlyArray<string>) =>
        Effect.forEach(
          given,
          (each) => Effect.map(deciding(project, each), (found) => found._tag === "Left" ? found.left.kind : "open")
        )
      const byForm = [
        record,
        path.join(top, "renamed/servers/0123456789abcdef.json"),
        path.join(other, "trust.json"),
        path.join(other, "mcp-logins/a.json"),
        path.join(other, "worktrees/0123456789abcdef/ses_1.json"),
        path.join(top, "anywhere/skein.db-wal"),
        path.join(top, "anywhere/.git/skein-host"),
        path.join(project, ".skein-host/nonce")
      ]
      const byEntry = [token, path.join(other, "history/a.jsonl"), "hard-history", other]
      const register = path.join(top, "register")
      yield* Effect.gen(function*() {
        expect(yield* kinds(byForm)).toEqual(byForm.map(() => "own_file"))
        expect(yield* kinds(byEntry)).toEqual(byEntry.map(() => "open"))
        const { hides } = yield* Paths
        expect(hides({ real: top } as Target)("other/skein/servers/0123456789abcdef.json")).toBe(true)
      }).pipe(Effect.provide(layer))
      const knowing = Paths.layer({ dataDirectory: data, register }).pipe(
        Layer.provide(SpillFiles.layer(data)),
        Layer.provide(NodeContext.layer)
      )
      yield* Effect.gen(function*() {
        // The other one starts later.
        expect(yield* kinds(byEntry)).toEqual(byEntry.map(() => "open"))
        yield* enterPlace(register, { dataDirectory: other, secret: [token] })
        expect(yield* kinds([...byForm, ...byEntry])).toEqual([...byForm, ...byEntry].map(() => "own_file"))
        expect(yield* kinds([path.join(register, "x.json"), path.join(other, "spill/ses_1/a.out"), "a.ts"])).toEqual([
          "own_file",
          "open",
          "open"
        ])
        // An entry whose files are gone is removed by the next one.
        fs.rmSync(path.join(top, "other"), { recursive: true })
        yield* enterPlace(register, { dataDirectory: data, secret: [] })
        expect(fs.readdirSync(register)).toHaveLength(1)
      }).pipe(Effect.provide(knowing))
    }))

  it.scopedLive("does not run on a link that leads to a secret file by then", () =>
    Effect.gen(function*() {
      const { data, layer, project } = yield* world
      const caller = { directory: project, sessionID: "ses_1" } as unknown as ToolCaller
      yield* Effect.gen(function*() {
        const { confirm, decide } = yield* Paths
        const decided = yield* decide("a.ts", caller)
        fs.rmSync(path.join(project, "a.ts"))
        fs.symlinkSync(path.join(data, "skein.db"), path.join(project, "a.ts"))
        expect(yield* Effect.flip(confirm(decided, "a.ts", caller))).toMatchObject({ kind: "own_file" })
      }).pipe(Effect.provide(layer))
    }))

  it.scopedLive("finds no secret file below a directory that it searches", () =>
    Effect.gen(function*() {
      const { layer, project, top } = yield* world
      yield* Effect.gen(function*() {
        const { hides, holds } = yield* Paths
        const hidden = (real: string, below: string) => hides({ real } as Target)(below)
        expect(hidden(top, "home/data/skein/servers/a.json")).toBe(true)
        expect(hidden(top, "./home/project/token")).toBe(true)
        expect(hidden(top, "home/project/a.ts")).toBe(false)
        expect(hidden("/", path.join(top, "home/project/token").slice(1))).toBe(true)
        expect(hidden(project, "token")).toBe(true)
        expect(holds({ real: top } as Target)).toBe(true)
        expect(holds({ real: path.join(project, "sub") } as Target)).toBe(false)
      }).pipe(Effect.provide(layer))
    }))

  it.scopedLive("sees the user's config only by a person, except for texts for models", () =>
    Effect.gen(function*() {
      const { config, layer, project } = yield* world
      const personal = (given: string) =>
        Effect.map(Effect.flatten(deciding(project, given)), (target) => target.personal)
      yield* Effect.gen(function*() {
        expect(yield* personal(path.join(config, "skein.json"))).toBe(true)
        expect(yield* personal(config)).toBe(true)
        expect(yield* personal(path.join(config, "AGENTS.md"))).toBe(false)
        expect(yield* personal(path.join(config, "skills/a/table.csv"))).toBe(false)
        expect(yield* personal("a.ts")).toBe(false)
      }).pipe(Effect.provide(layer))
    }))
})

describe.skipIf(!works)("a sandboxed command (needs bubblewrap)", () => {
  it.live("sees no secret file, not even with credentials or if its path was approved", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* worldIn("/var/tmp")
      const file = (name: string) => {
        const made = path.join(top, name)
        fs.mkdirSync(path.dirname(made), { recursive: true })
        fs.writeFileSync(made, "SECRET")
        return made
      }
      const database = file("data/skein.db")
      const server = file("data/servers/a.json")
      const token = file("other/token")
      const inside = file("repo/token")
      const store = file("data/steps/ses_1.git/config")
      const trees = ["data/worktrees/0123456789abcdef/ses_1/file.ts", "data/workspaces/ses_1/tree-a/file.ts"].map((
        name
      ) => path.dirname(file(name)))
      const line =
        `cat ${database} ${server} ${store} ${token} ${inside}; grep -rs SECRET ${top}/data/servers ${top}/other .`
      yield* Effect.gen(function*() {
        for (const readOnly of [true, false]) {
          const asked = [database, server, token, inside]
          const given = { approved: asked, reached: asked, visible: [...asked, path.dirname(server)], readOnly }
          const { output } = yield* runIn({ directory: repo, ...given, credentials: true }, line)
          expect(output).not.toContain("SECRET")
          const wide = yield* runIn({ directory: repo, approved: [], visible: [top], readOnly }, line)
          expect(wide.output).not.toContain("SECRET")
          expect((yield* runIn({ directory: repo, approved: [], readOnly }, "cat a.txt")).output).toBe("a")
        }
        for (const directory of trees) {
          const own = { directory, approved: [], visible: [top] }
          expect((yield* runIn(own, `cat ${line.slice(4)}`)).output).not.toMatch(/(?<!file\.ts:)SECRET/)
          expect((yield* runIn(own, "cat file.ts && echo new > new.ts && cat new.ts")).output).toBe("SECRETnew\n")
        }
      }).pipe(Effect.provide(layerIn(top, { secret: [token, inside] })))
      for (const each of [database, server, token, at("token")]) expect(fs.readFileSync(each, "utf8")).toBe("SECRET")
    })))

  it.live("sees no file of another program of Skein, wherever it lies", () =>
    Effect.scoped(Effect.gen(function*() {
      const { repo, top } = yield* worldIn("/var/tmp")
      const file = (name: string) => {
        const made = path.join(top, name)
        fs.mkdirSync(path.dirname(made), { recursive: true })
        fs.writeFileSync(made, "SECRET")
        return made
      }
      const token = file("other/token")
      file("other/b/skein/history/a.jsonl")
      for (const at of ["other/deep/er/skein", "repo/c/skein"]) {
        for (const name of ["servers/0123456789abcdef.json", "trust.json", "mcp-logins/a.json", "skein.db"]) {
          file(`${at}/${name}`)
        }
      }
      const register = path.join(top, "register")
      yield* enterPlace(register, { dataDirectory: path.join(top, "other/b/skein"), secret: [token] })
      yield* Effect.gen(function*() {
        for (const readOnly of [true, false]) {
          for (const credentials of [true, false]) {
            const place = { directory: repo, approved: [], visible: [path.join(top, "other")], readOnly, credentials }
            expect((yield* runIn(place, `grep -rs SECRET ${top}/other .`)).output).toBe("")
          }
        }
      }).pipe(Effect.provide(layerIn(top, { register })))
    })))

  it.live.each(
    [
      ["of an isolated task sees its own tree alone, and no record", "data"],
      ["of an isolated task that another server began sees its own tree alone, and no record", "other/b/skein"]
    ] as const
  )("%s", ([, data]) =>
    Effect.scoped(Effect.gen(function*() {
      const { top } = yield* worldIn("/var/tmp")
      const register = path.join(top, "register")
      yield* enterPlace(register, { dataDirectory: path.join(top, data), secret: [] })
      const trees = path.join(top, data, "worktrees/0123456789abcdef")
      for (const name of ["ses_1/file", "ses_2/file", "ses_1.json", "ses_2.json"]) {
        fs.mkdirSync(path.dirname(path.join(trees, name)), { recursive: true })
        fs.writeFileSync(path.join(trees, name), `text of ${name}\n`)
      }
      const directory = path.join(trees, "ses_1")
      const line = `cat file ../ses_1.json ../ses_2.json ../ses_2/file; echo x >> ../ses_2/file; echo x > ../ses_2.json`
      yield* Effect.gen(function*() {
        const places = ["ses_2.json", ""].map((name) => path.join(trees, name))
        const seen = { approved: places, reached: places, visible: [...places, top] }
        expect((yield* runIn({ directory, ...seen }, line)).output.match(/text of \S+/g)).toEqual([
          "text of ses_1/file"
        ])
        // A person may consent to look at another tree.
        const other = { directory, approved: [], visible: [path.join(trees, "ses_2")] }
        expect((yield* runIn(other, "cat ../ses_2/file")).output).toBe("text of ses_2/file\n")
        expect((yield* runIn({ directory, approved: [] }, "echo mine > new && cat new")).output).toBe("mine\n")
      }).pipe(Effect.provide(layerIn(top, { register })))
      expect(fs.readFileSync(path.join(trees, "ses_2/file"), "utf8")).toBe("text of ses_2/file\n")
      expect(fs.readFileSync(path.join(trees, "ses_2.json"), "utf8")).toBe("text of ses_2.json\n")
    })))
})
