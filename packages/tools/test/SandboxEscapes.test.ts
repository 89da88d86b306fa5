/** Ways out of the sandbox, each as somebody would try it. */
import { describe, expect, it } from "@effect/vitest"
import { Sandbox } from "@skein/tools/Sandbox"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { createServer } from "node:net"
import * as path from "node:path"
import { git, layerIn, runIn, works, world } from "./support/sandbox.ts"

describe.skipIf(!works)("out of a sandbox (needs bubblewrap)", () => {
  it.live("leads no power, not even that of root", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      yield* Effect.gen(function*() {
        const run = (line: string) => runIn({ directory: repo, approved: [] }, line)
        for (
          const line of [
            "umount .skein",
            "umount .git/hooks",
            "mount -o remount,bind,rw / && touch /usr/skein-x",
            "mount -t tmpfs none .git",
            "unshare -U true",
            "unshare -Urm mount -t tmpfs none .skein",
            "chroot / true",
            "mknod disk b 254 0",
            // Nothing is written: opening says enough.
            ": >> /proc/sys/kernel/core_pattern",
            ": >> /proc/sys/kernel/modprobe",
            ": >> /proc/sysrq-trigger",
            ": >> /sys/kernel/uevent_helper",
            "nsenter -t 1 -m true",
            "su nobody -s /bin/true",
            `kill -0 ${process.pid}`
          ]
        ) {
          expect(yield* run(line), line).not.toMatchObject({ code: 0 })
        }
        expect((yield* run("grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status")).output).toBe(
          `CapEff:\t${"0".repeat(16)}\nCapBnd:\t${"0".repeat(16)}\nNoNewPrivs:\t1\n`
        )
      }).pipe(Effect.provide(layerIn(top)))
      expect(fs.existsSync(at("disk"))).toBe(false)
    })))

  it.live("leads no socket of another program, wherever that lies (S55)", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      const sockets = [at("in.sock"), path.join(top, "other", "docker.sock")]
      for (const socket of sockets) {
        yield* Effect.acquireRelease(
          Effect.async<ReturnType<typeof createServer>>((resume) => {
            const server = createServer((connection) => connection.end("heard"))
            server.listen(socket, () => resume(Effect.succeed(server)))
          }),
          (server) => Effect.sync(() => server.close())
        )
      }
      // A directory for temporary files, where this Node may lie, is another one in the sandbox.
      const node = at("node")
      fs.copyFileSync(process.execPath, node)
      const talk = (socket: string) =>
        `exec ${node} -e 'require("net").connect(process.argv[1]).on("error", () => process.exit(3)).on("data", (d) => console.log(String(d)))' ${socket}`
      yield* Effect.gen(function*() {
        for (const socket of sockets) {
          expect(yield* runIn({ directory: repo, approved: [] }, talk(socket))).toMatchObject({ code: 3 })
          expect(yield* runIn({ directory: repo, approved: [], readOnly: true }, talk(socket))).toMatchObject({
            code: 3
          })
        }
        // No consent opens a socket, also none to what is above it. Sockets of its own are no way out.
        for (const more of [{ approved: sockets }, { visible: sockets }, { visible: [top] }, { visible: ["/"] }]) {
          for (const socket of sockets) {
            expect(yield* runIn({ directory: repo, approved: [], ...more }, talk(socket))).toMatchObject({ code: 3 })
          }
        }
        const own = `${node} -e '
          const net = require("net")
          net.createServer((c) => c.end("own")).listen("mine", () => {
            net.connect("mine").on("data", (d) => { console.log(String(d)); process.exit() })
          })'`
        expect(yield* runIn({ directory: repo, approved: [] }, own)).toMatchObject({ output: "own\n" })
      }).pipe(Effect.provide(layerIn(top)))
    })))

  it.live("leads no consent to the root directory, nor to what every sandbox has for itself", () =>
    Effect.scoped(Effect.gen(function*() {
      const { repo, top } = yield* world
      const home = path.join(top, "home")
      fs.mkdirSync(path.join(home, "private"), { recursive: true })
      const others = fs.mkdtempSync("/tmp/skein-others-")
      yield* Effect.addFinalizer(() => Effect.sync(() => fs.rmSync(others, { recursive: true })))
      const line =
        `echo quiet > /dev/null && test $(ls -d /proc/[0-9]* | wc -l) -lt 10 && echo few; ls -A /run; ls -d ${others}; ls -A ${home}`
      yield* Effect.gen(function*() {
        const usual = yield* runIn({ directory: repo, approved: [] }, line)
        expect(usual.output).toMatch(/^few\n.gitconfig\nls: cannot access/)
        for (const place of ["/", "/proc", "/proc/1", "/dev", "/run", "/run/user", "/tmp"]) {
          const places = { approved: [place], reached: [place], visible: [place] }
          expect(yield* runIn({ directory: repo, ...places }, line), place).toEqual(usual)
        }
        expect((yield* Effect.flatMap(Sandbox, ({ limits }) => limits))?.sees("/")).toBe(true)
      }).pipe(Effect.provide(layerIn(top)))
    })))

  it.live("leads no consent to one thing beside it, and none to what has become a link", () =>
    Effect.scoped(Effect.gen(function*() {
      const { repo, top } = yield* world
      const other = (name: string) => path.join(top, "other", name)
      fs.writeFileSync(other("old"), "old")
      fs.mkdirSync(other("keys"))
      fs.writeFileSync(path.join(other("keys"), "id"), "secret")
      fs.symlinkSync(path.join(top, "data"), other("link"))
      yield* Effect.gen(function*() {
        const run = (approved: ReadonlyArray<string>, line: string) => runIn({ directory: repo, approved }, line)
        expect(yield* run([other("new")], "echo new > ../other/new && cat ../other/new")).toEqual({
          code: 0,
          output: "new\n"
        })
        fs.rmSync(other("new"))
        for (
          const line of [
            "echo x > ../other/old",
            "rm ../other/old",
            "echo x > ../other/keys/id",
            "mv ../other/keys ../other/k"
          ]
        ) {
          expect(yield* run([other("new")], line), line).not.toMatchObject({ code: 0 })
        }
        expect(yield* run([other("link")], "echo x > ../other/link/x")).not.toMatchObject({ code: 0 })
        expect(yield* run([other("link/new")], "echo x > ../other/link/new")).not.toMatchObject({ code: 0 })
        expect(yield* run(["/"], `echo x > ../other/old`)).not.toMatchObject({ code: 0 })
        const many = Array.from({ length: 300 }, (_, index) => other(`many${index}`))
        for (const each of many) fs.writeFileSync(each, "")
        expect(yield* run(many, "echo x > ../other/many299")).toMatchObject({ code: 0 })
      }).pipe(Effect.provide(layerIn(top)))
      expect(fs.readFileSync(other("old"), "utf8")).toBe("old")
    })))

  it.live("leads no tree that is the user's home, nor one with the files of Skein in it", () =>
    Effect.scoped(Effect.gen(function*() {
      const { top } = yield* world
      const home = path.join(top, "home")
      fs.mkdirSync(path.join(home, ".ssh"), { recursive: true })
      fs.writeFileSync(path.join(home, ".ssh", "id"), "key")
      fs.mkdirSync(path.join(home, "dots"))
      fs.writeFileSync(path.join(home, "dots", "bashrc"), "mine")
      fs.symlinkSync("dots/bashrc", path.join(home, ".bashrc"))
      const before = fs.readdirSync(home).toSorted()
      yield* Effect.gen(function*() {
        for (
          const line of [
            "echo x >> .bashrc",
            "echo x > .ssh/authorized_keys",
            "cat .ssh/id"
          ]
        ) {
          expect(yield* runIn({ directory: home, approved: [] }, line), line).not.toMatchObject({ code: 0 })
        }
        for (
          const line of [
            "echo x > .bash_profile",
            "echo x > .zshenv",
            "mkdir -p .config/autostart && echo x > .config/autostart/x",
            "mkdir -p .local/bin"
          ]
        ) {
          yield* runIn({ directory: home, approved: [] }, line)
          const [name = ""] = line.match(/\.\w+/) ?? []
          expect(fs.existsSync(path.join(home, name)), line).toBe(false)
          fs.rmSync(path.join(home, `${name}.set-aside`), { recursive: true })
        }
        expect(yield* runIn({ directory: home, approved: [] }, "mkdir new && echo x > new/x")).toMatchObject({
          code: 0
        })
        for (
          const line of ["echo x > data/skein.db", "rm -r data", "mv data d", "echo x >> home/.bashrc", "mv home h"]
        ) {
          expect(yield* runIn({ directory: top, approved: [] }, line), line).not.toMatchObject({ code: 0 })
        }
        expect(yield* runIn({ directory: "/", approved: [] }, `echo x > ${top}/x || test -r /proc/1/status && ls /run`))
          .toMatchObject({ code: 0, output: expect.stringContaining("Read-only file system") })
      }).pipe(Effect.provide(layerIn(top)))
      expect(fs.readdirSync(home).toSorted()).toEqual([...before, "new"].toSorted())
    })))

  it.live("leads no script that runs outside of it", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      fs.mkdirSync(at("tools/deep"), { recursive: true })
      fs.writeFileSync(at("tools/deep/hook.sh"), "mine")
      yield* Effect.gen(function*() {
        const lines = [
          "echo x > tools/deep/hook.sh",
          "rm tools/deep/hook.sh",
          "mv tools t && mkdir -p tools/deep && echo x > tools/deep/hook.sh",
          "mv tools/deep tools/d && mkdir tools/deep && echo x > tools/deep/hook.sh"
        ]
        for (const line of lines) {
          expect(yield* runIn({ directory: repo, approved: [] }, line), line).not.toMatchObject({ code: 0 })
        }
        expect(yield* runIn({ directory: repo, approved: [] }, "echo x > tools/deep/new")).toMatchObject({ code: 0 })
      }).pipe(Effect.provide(layerIn(top, { fixed: [at("tools/deep/hook.sh"), at("none"), "/etc/hostname"] })))
      expect(fs.readFileSync(at("tools/deep/hook.sh"), "utf8")).toBe("mine")
    })))

  it.live("leads no name of a tree, however it is written, and no way to it", () =>
    Effect.scoped(Effect.gen(function*() {
      const { top } = yield* world
      for (const name of ["with space", "line\nbreak", "ünï'\"$(x)", "--bind", "-"]) {
        const tree = path.join(top, "odd", name)
        fs.mkdirSync(tree, { recursive: true })
        git(tree, "init", "-q")
        const link = path.join(top, "link")
        fs.rmSync(link, { force: true })
        fs.symlinkSync(tree, link)
        yield* Effect.gen(function*() {
          for (const directory of [tree, link]) {
            const line = "echo x > file; echo x > .git/hooks/post-commit; echo x > ../x; ls; git status --porcelain"
            expect((yield* runIn({ directory, approved: [] }, line)).output, name).toMatch(/\bfile\n\?\? file\n/)
          }
        }).pipe(Effect.provide(layerIn(top)))
        expect(fs.readdirSync(tree).toSorted()).toEqual([".git", "file"])
        expect(fs.existsSync(path.join(tree, ".git/hooks/post-commit"))).toBe(false)
        expect(fs.readdirSync(path.join(top, "odd"))).not.toContain("x")
      }
    })))
})
