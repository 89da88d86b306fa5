/** Files in which programs of the user keep keys and passwords: only a person shows one, each time. */
import * as NodeContext from "@effect/platform-node/NodeContext"
import { describe, expect, it } from "@effect/vitest"
import type { ToolCaller } from "@skein/core/Tool"
import { Paths, type Target } from "@skein/tools/Paths"
import { Sandbox } from "@skein/tools/Sandbox"
import { SpillFiles } from "@skein/tools/SpillFiles"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import { lookAsks } from "../src/internal/asks.ts"
import { runIn, works, worldIn } from "./support/sandbox.ts"

const secrets = [
  "home/.pgpass",
  "home/.ssh/id_ed25519",
  "home/.aws/credentials",
  "home/.netrc",
  "home/.config/gh/hosts.yml",
  "home/.docker/config.json",
  "home/.kube/config",
  "home/.npmrc",
  "home/.git-credentials",
  "home/.gnupg/private-keys-v1.d/a.key",
  "home/.codex/auth.json",
  "home/.claude/.credentials.json",
  "home/.gemini/oauth_creds.json",
  "home/.pi/agent/auth.json",
  "home/.local/share/opencode/auth.json",
  "home/.cargo/credentials",
  "home/.config/pip/pip.conf",
  "home/.config/op/config",
  "home/.config/Bitwarden CLI/data.json",
  "home/.config/age/keys.txt",
  "home/.config/sops/age/keys.txt",
  "home/.config/containers/auth.json",
  "homes/ada/.codex/auth.json",
  "homes/ada/.config/Bitwarden CLI/data.json",
  "elsewhere/passwords",
  "elsewhere/linked",
  "homes/ada/.pgpass",
  "homes/ada/.ssh/id_rsa"
]
const others = ["home/notes.txt", "home/.ssh/id_ed25519.pub", "home/.ssh/known_hosts", "homes/ada/notes.txt"]

/** A home with credentials, of which one is a link and one is named by a variable, and the home of somebody else. */
const world = Effect.map(worldIn("/var/tmp"), ({ repo, top }) => {
  for (const name of [...secrets, ...others]) {
    fs.mkdirSync(path.dirname(path.join(top, name)), { recursive: true })
    fs.writeFileSync(path.join(top, name), `text of ${name}\n`)
  }
  fs.rmSync(path.join(top, "home/.my.cnf"), { force: true })
  fs.symlinkSync(path.join(top, "elsewhere/linked"), path.join(top, "home/.my.cnf"))
  fs.linkSync(path.join(top, "home/.pgpass"), path.join(repo, "hard"))
  fs.writeFileSync(path.join(repo, ".npmrc"), "save-exact=true\n")
  const home = path.join(top, "home")
  const environment = { PATH: process.env["PATH"], HOME: home, PGPASSFILE: path.join(top, "elsewhere/passwords") }
  const dataDirectory = path.join(top, "data")
  const layer = Layer.merge(
    Paths.layer({ home, dataDirectory, environment }).pipe(
      Layer.provide(SpillFiles.layer(dataDirectory)),
      Layer.provide(NodeContext.layer)
    ),
    Sandbox.layer({ network: false, dataDirectory, environment })
  )
  return { home, layer, repo, top }
})

describe("a file with credentials", () => {
  it.scopedLive("is shown and changed by a person alone, from wherever it is named", () =>
    Effect.gen(function*() {
      const { home, layer, repo, top } = yield* world
      const decide = (directory: string, given: string) =>
        Effect.flatMap(
          Paths,
          (paths) => paths.decide(given, { directory, sessionID: "ses_1" } as unknown as ToolCaller)
        )
      yield* Effect.gen(function*() {
        for (
          const given of [
            ...secrets.map((name) => path.join(top, name)),
            "~/.pgpass",
            "~/.my.cnf",
            "hard"
          ]
        ) {
          const target = yield* decide(repo, given)
          expect(target, given).toMatchObject({ credential: true, protected: true })
          const asks = lookAsks("read", target, { pattern: target.shown, directory: false, metadata: {} })
          expect(asks.length, given).toBeGreaterThan(0)
          for (const ask of asks) expect(ask, given).toMatchObject({ protected: true, always: [] })
        }
        expect(yield* decide(home, ".ssh/id_ed25519")).toMatchObject({ place: "inside", credential: true })
        for (const given of [...others.map((name) => path.join(top, name)), ".npmrc", "a.txt"]) {
          expect((yield* decide(repo, given)).credential, given).toBeUndefined()
        }
      }).pipe(Effect.provide(layer))
    }))

  it.scopedLive("may be of the system, which a server of root could read", () =>
    Effect.gen(function*() {
      const { layer, repo } = yield* world
      const decide = (directory: string, given: string) =>
        Effect.flatMap(
          Paths,
          (paths) => paths.decide(given, { directory, sessionID: "ses_1" } as unknown as ToolCaller)
        )
      yield* Effect.gen(function*() {
        // These count wherever Skein runs, and whether they exist or not.
        const named = [
          "shadow",
          "shadow-",
          "gshadow",
          "sudoers",
          "sudoers.d/skein",
          "ssh/ssh_host_rsa_key",
          "ssl/private/a.key"
        ]
        const given = [
          ...named.map((name) => `/etc/${name}`),
          "/etc/../etc/shadow"
        ]
        for (const path of given) {
          for (const directory of [repo, "/etc"]) {
            const target = yield* decide(directory, path)
            expect(target, path).toMatchObject({ credential: true })
            const asks = lookAsks("read", target, { pattern: target.shown, directory: false, metadata: {} })
            for (const ask of asks) expect(ask, path).toMatchObject({ protected: true, always: [] })
            expect(asks.length, path).toBeGreaterThan(0)
          }
        }
        for (const path of ["/etc/passwd", "/etc/hosts", "/etc/ssh/ssh_config", "/proc/self/status"]) {
          expect((yield* decide(repo, path)).credential, path).toBeUndefined()
        }
        const hides = (yield* Paths).hides({ real: "/etc", place: "outside" } as Target, "contents")
        expect(["shadow", "sudoers", "passwd"].map(hides)).toEqual([true, true, false])
        // What only root may read of the system's config counts as well, whatever its name.
        const others = fs.readdirSync("/etc").filter((name) =>
          fs.existsSync(`/etc/${name}`) && (fs.statSync(`/etc/${name}`).mode & 0o004) === 0
        )
        expect(others.filter((name) => !hides(name))).toEqual([])
      }).pipe(Effect.provide(layer))
    }))

  it.scopedLive("is in the result of no search", () =>
    Effect.gen(function*() {
      const { layer, top } = yield* world
      yield* Effect.gen(function*() {
        const hides = (yield* Paths).hides({ real: top, place: "outside" } as Target, "contents")
        expect(secrets.filter((name) => !hides(name))).toEqual([])
        expect(others.filter(hides)).toEqual([])
      }).pipe(Effect.provide(layer))
    }))
})

describe.skipIf(!works)("a sandboxed command (needs bubblewrap)", () => {
  it.live("sees no credentials, whatever directory around them was consented to", () =>
    Effect.scoped(Effect.gen(function*() {
      const { home, layer, repo, top } = yield* world
      fs.rmSync(path.join(repo, "hard"))
      yield* Effect.gen(function*() {
        for (const visible of [[top], [home, path.join(top, "elsewhere"), path.join(top, "homes")]]) {
          for (const readOnly of [true, false]) {
            const line = `grep -rhs 'text of' ${top} | sort`
            const { output } = yield* runIn({ directory: repo, approved: [], visible, readOnly }, line)
            expect(output).toContain("text of homes/ada/notes.txt")
            expect(secrets.filter((name) => output.includes(`text of ${name}\n`))).toEqual([])
          }
        }
        // The one that a person has shown.
        const visible = [path.join(home, ".pgpass")]
        const line = `cat ${home}/.pgpass ${home}/.netrc`
        expect((yield* runIn({ directory: repo, approved: [], visible }, line)).output.split("\n")[0]).toBe(
          "text of home/.pgpass"
        )
        expect((yield* runIn({ directory: repo, approved: [], credentials: true }, line)).output).toBe(
          "text of home/.pgpass\ntext of home/.netrc\n"
        )
      }).pipe(Effect.provide(layer))
    })))
})
