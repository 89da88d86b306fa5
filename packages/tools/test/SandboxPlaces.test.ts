/** Proves that a sandboxed command leaves nothing that another program executes or obeys unasked. Needs bubblewrap. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import { places } from "./support/places.ts"
import { git, layerIn, runIn, works, world } from "./support/sandbox.ts"

/** A world, and what lines in it were told. */
const place = Effect.gen(function*() {
  const { at, repo, top } = yield* world
  const sandbox = yield* Layer.build(layerIn(top))
  const run = Effect.fnUntraced(function*(line: string, approved: ReadonlyArray<string> = []) {
    const notes: Array<string> = []
    const tell = (note: string) => Effect.sync(() => void notes.push(note))
    const ended = yield* Effect.provide(runIn({ directory: repo, approved, tell }, line), sandbox)
    return { ...ended, notes }
  })
  return { at, repo, run }
})

const planted = "#!/bin/sh\ntouch HOOKED\n"

const plant = (file: string) =>
  `mkdir -p ${path.dirname(file)}; printf '%s' '${planted}' > ${file}; chmod +x ${file} || exit 9`

describe.skipIf(!works)("a sandboxed command", () => {
  it.scopedLive("makes no place that other programs execute or obey, and changes none", () =>
    Effect.gen(function*() {
      const { at, repo, run } = yield* place
      const before = fs.readdirSync(repo)
      for (const name of places) {
        const { notes } = yield* run(`mkdir -p ${path.dirname(name)} && echo x > ${name}`)
        expect(fs.existsSync(at(name)), name).toBe(false)
        expect(notes, name).toEqual([expect.stringContaining("is protected, and this command was not allowed")])
        for (const each of fs.readdirSync(repo)) {
          if (!before.includes(each)) fs.rmSync(at(each), { recursive: true })
        }
      }
      for (const name of places) {
        fs.mkdirSync(path.dirname(at(name)), { recursive: true })
        fs.writeFileSync(at(name), "mine")
      }
      const all = places.map((name) => `echo x > ${name}; rm -f ${name}; mv ${name.split("/")[0]} moved; true`)
      yield* run(all.join("\n"))
      for (const name of places) expect(fs.readFileSync(at(name), "utf8"), name).toBe("mine")
    }))

  it.scopedLive("plants no hook that the user's next commit runs", () =>
    Effect.gen(function*() {
      const { at, repo, run } = yield* place
      const commit = (hooks: string | undefined) => {
        if (hooks === undefined) git(repo, "config", "--unset-all", "core.hooksPath")
        fs.writeFileSync(at("a.txt"), `${hooks}${fs.readdirSync(repo).length}`)
        git(repo, "commit", "-qam", "mine", "--allow-empty")
        expect(fs.existsSync(at("HOOKED")), hooks).toBe(false)
      }
      for (const hooks of [".husky", ".githooks", "tools/git/hooks", "tools/more"]) {
        git(repo, "config", "core.hooksPath", hooks)
        if (hooks === "tools/more") fs.mkdirSync(at(hooks), { recursive: true })
        const file = `${hooks}/pre-commit`
        yield* run(plant(file))
        commit(hooks)
        expect(fs.existsSync(at(file)), file).toBe(false)
      }
      fs.writeFileSync(at("shared.inc"), "[core]\n\thooksPath = .shared\n")
      git(repo, "config", "--unset-all", "core.hooksPath")
      git(repo, "config", "include.path", "../shared.inc")
      yield* run("printf '[core]\\n\\thooksPath = other\\n' > shared.inc")
      yield* run(plant("other/pre-commit"))
      yield* run(plant(".shared/pre-commit"))
      commit("included")
    }))

  it.scopedLive("makes no file that gives its owner's rights to others", () =>
    Effect.gen(function*() {
      const { at, run } = yield* place
      const lines = [
        "chmod u+s a.txt",
        "chmod 4755 a.txt",
        "chmod 2755 a.txt",
        "chmod g+s a.txt",
        "install -m 4755 a.txt b.txt",
        "python3 -c 'import os; os.chmod(\"a.txt\", 0o4755)'",
        "python3 -c 'import os; os.fchmod(os.open(\"a.txt\", os.O_RDWR), 0o4755)'",
        "python3 -c 'import os; os.close(os.open(\"c.txt\", os.O_RDWR | os.O_CREAT, 0o4755))'",
        "python3 -c 'import os; os.mknod(\"d.txt\", 0o104755)'",
        "perl -e 'chmod 04755, \"a.txt\" or exit 1'",
        "node -e 'fs.chmodSync(\"a.txt\", 0o4755)'"
      ]
      for (const line of lines) expect(yield* run(line), line).not.toMatchObject({ code: 0 })
      for (const name of fs.readdirSync(at("."))) expect(fs.statSync(at(name)).mode & 0o6000, name).toBe(0)
      const ordinary =
        "chmod 755 a.txt && chmod +x a.txt && cp -a a.txt e.txt && umask 022 && tar cf x.tar a.txt && tar xpf x.tar"
      expect(yield* run(ordinary)).toMatchObject({ code: 0 })
      expect(yield* run("node -e 'fs.writeFileSync(\"f\", \"x\")' && mkdir -m 755 g && git status")).toMatchObject({
        code: 0
      })
    }))

  it.scopedLive("may change such a place once it was approved", () =>
    Effect.gen(function*() {
      const { at, run } = yield* place
      const { notes } = yield* run("echo x > .npmrc", [at(".npmrc")])
      expect([notes, fs.readFileSync(at(".npmrc"), "utf8")]).toEqual([[], "x\n"])
    }))
})
