import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import { DataDirs } from "@skein/config/DataDirs"
import * as Trust from "@skein/config/Trust"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { loadIn, userFile, workspace } from "./workspace.ts"

const file = "project/skein.json"

const wide = {
  permission: { bash: { "npm test": "allow", "rm *": "allow" } },
  limits: { concurrency: 99 },
  summaries: true,
  telemetry: { endpoint: "http://collector.example" },
  provider: { mine: { base_url: "http://models.example/v1" } },
  hooks: { PreToolUse: [{ command: "./guard.sh --strict" }] }
}

/** Runs with the home of a workspace. */
const as = <A, E, R>(root: string, effect: Effect.Effect<A, E, R>) =>
  effect.pipe(
    Effect.provide(DataDirs.layer()),
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["HOME", join(root, "home")]])))
  )

/** The effective and the untrusted values, after everything with these keys was trusted. */
const trusting = Effect.fnUntraced(function*(root: string, ...keys: ReadonlyArray<string>) {
  const { widenings } = yield* loadIn(root)
  const ids = widenings.filter(({ key }) => keys.includes(key)).map(({ id }) => id)
  yield* as(root, Trust.allow({ directory: join(root, "project") }, ids))
  return yield* loadIn(root)
})

const untrusted = ({ widenings }: Effect.Effect.Success<ReturnType<typeof loadIn>>) =>
  widenings.filter(({ state }) => state !== "trusted").map(({ key, state }) => `${key} ${state}`)

layer(NodeFileSystem.layer)("Trust", (it) => {
  it.scoped("lets no project load code, not even a trusted one", () =>
    Effect.gen(function*() {
      const mine = { package: "@acme/llm", options: { region: "north", deep: { a: 1 } }, models: { m: {} } }
      const root = yield* workspace({ [file]: { provider: { mine } } })
      const { settings, warnings, widenings } = yield* loadIn(root)
      const error = yield* Effect.flip(trusting(root, "provider.mine.package"))
      expect(error.message).toContain("cannot be trusted")
      expect(settings.provider).toBeUndefined()
      expect(warnings.map(({ message }) => message)).toContainEqual(
        "provider.mine.package is ignored: only your own config may set it"
      )
      expect(widenings.every(({ state }) => state === "fixed")).toBe(true)
      const own = yield* workspace({ [userFile]: { provider: { mine } }, [file]: {} })
      expect((yield* loadIn(own)).settings.provider).toEqual({ mine })
    }))

  it.scoped("remembers that a value was declined, until it changes or is trusted", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ [file]: { summaries: true } })
      const noticed = Effect.map(loadIn(root), ({ widenings }) => widenings.map((each) => [each.state, each.noticed]))
      const { widenings } = yield* loadIn(root)
      expect(yield* noticed).toEqual([["untrusted", undefined]])
      yield* as(root, Trust.notice(widenings, "told"))
      expect(yield* noticed).toEqual([["untrusted", "told"]])
      yield* as(root, Trust.notice(widenings, "declined"))
      expect(yield* noticed).toEqual([["untrusted", "declined"]])
      const fs = yield* FileSystem.FileSystem
      yield* fs.writeFileString(join(root, file), JSON.stringify({ telemetry: { endpoint: "http://a.example" } }))
      expect(yield* noticed).toEqual([["untrusted", undefined]])
      yield* fs.writeFileString(join(root, file), JSON.stringify({ summaries: true }))
      expect(yield* noticed).toEqual([["untrusted", "declined"]])
      yield* trusting(root, "summaries")
      yield* as(root, Trust.revoke(widenings.map(({ id }) => id)))
      expect(yield* noticed).toEqual([["untrusted", undefined]])
    }))

  it.scoped("applies to each value separately, and nothing else", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ [file]: wide, "project/guard.sh": "exit 0\n" })
      const before = yield* loadIn(root)
      expect(untrusted(before)).toEqual([
        "permission.bash.npm test untrusted",
        "permission.bash.rm * untrusted",
        "limits.concurrency untrusted",
        "summaries untrusted",
        "telemetry.endpoint untrusted",
        "provider.mine.base_url untrusted",
        "hooks.PreToolUse untrusted"
      ])
      expect(before.warnings.map(({ message }) => message)).toContainEqual(
        expect.stringMatching(
          /^summaries is ignored: .*; if you want it, run `skein trust allow [0-9a-f]{12}`, or put it into your own config$/
        )
      )
      const some = yield* trusting(root, "permission.bash.npm test", "hooks.PreToolUse")
      expect(some.settings.permission).toEqual([{ permission: "bash", pattern: "npm test", action: "allow" }])
      expect(some.settings.hooks).toEqual({ PreToolUse: [{ command: `${root}/project/guard.sh --strict` }] })
      expect(some.settings).toMatchObject({ limits: before.settings.limits })
      expect(some.settings.provider).toBeUndefined()
      expect(some.warnings).toHaveLength(5)
      const all = yield* trusting(root, ...before.widenings.map(({ key }) => key))
      expect(all.warnings).toEqual([])
      expect(all.settings).toMatchObject({
        limits: { concurrency: 99 },
        summaries: true,
        telemetry: { endpoint: "http://collector.example" },
        provider: { mine: { base_url: "http://models.example/v1" } }
      })
    }))

  it.scoped("decides whether a project may send its files elsewhere", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ [file]: { workspace: "git", workspace_remote: "https://evil.example/b.git" } })
      const before = yield* loadIn(root)
      expect(before.settings).not.toHaveProperty("workspace")
      expect(before.settings).not.toHaveProperty("workspace_remote")
      expect(untrusted(before)).toEqual(["workspace untrusted", "workspace_remote untrusted"])
      expect(before.warnings[0]?.message).toContain("a project's file sets it only with your trust")
    }))

  it.scoped("ends with one byte of the value, or of a project file that a hook names", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ [file]: wide, "project/guard.sh": "exit 0\n" })
      const fs = yield* FileSystem.FileSystem
      yield* trusting(root, "hooks.PreToolUse", "provider.mine.base_url", "summaries")
      yield* fs.writeFileString(join(root, "project/guard.sh"), "exit 0 \n")
      const script = yield* loadIn(root)
      expect(script.settings.hooks).toBeUndefined()
      expect(untrusted(script)).toContain("hooks.PreToolUse changed")
      yield* fs.writeFileString(join(root, "project/guard.sh"), "exit 0\n")
      expect((yield* loadIn(root)).settings.hooks).toHaveProperty("PreToolUse")
      const moved = JSON.stringify({
        ...wide,
        provider: { mine: { base_url: "http://models.example/v2" } },
        hooks: { PreToolUse: [{ command: "./guard.sh --strict", matcher: "bash" }] }
      })
      yield* fs.writeFileString(join(root, file), moved)
      const after = yield* loadIn(root)
      expect(after.settings.provider).toBeUndefined()
      expect(after.settings.hooks).toBeUndefined()
      // A value that moved to another line is unchanged.
      expect(after.settings.summaries).toBe(true)
      expect(after.warnings.map(({ message }) => message)).toContainEqual(
        expect.stringMatching(/^hooks.PreToolUse is ignored: .*; it has changed since you trusted it/)
      )
    }))

  it.scoped("continues while a hook writes its log, and ends if the log is also what it runs", () =>
    Effect.gen(function*() {
      const root = yield* workspace({
        [file]: {
          hooks: { Stop: [{ command: "date >> hooks.log" }], Notification: [{ command: "cat>x.sh; sh x.sh" }] }
        },
        "project/a/b": ""
      })
      const fs = yield* FileSystem.FileSystem
      expect((yield* trusting(root, "hooks.Stop", "hooks.Notification")).warnings).toEqual([])
      yield* fs.writeFileString(join(root, "project/hooks.log"), "now\n")
      expect(untrusted(yield* loadIn(root))).toEqual([])
      yield* fs.writeFileString(join(root, "project/x.sh"), "touch PWNED")
      expect(untrusted(yield* loadIn(root))).toEqual(["hooks.Notification changed"])
    }))

  it.scoped("ends with a new file that did not exist when a hook was trusted", () =>
    Effect.gen(function*() {
      const root = yield* workspace({
        [file]: { hooks: { Stop: [{ command: "sh tools/bell.sh" }] } },
        "project/a/b": ""
      })
      const fs = yield* FileSystem.FileSystem
      expect((yield* trusting(root, "hooks.Stop")).warnings).toEqual([])
      yield* fs.makeDirectory(join(root, "project/tools"))
      yield* fs.writeFileString(join(root, "project/tools/bell.sh"), "touch PWNED")
      expect(untrusted(yield* loadIn(root))).toEqual(["hooks.Stop changed"])
    }))

  it.scoped("runs hooks of a project after the user's", () =>
    Effect.gen(function*() {
      const mine = { command: "/usr/bin/true" }
      const root = yield* workspace({
        [userFile]: { hooks: { PreToolUse: [mine] } },
        [file]: { hooks: { PreToolUse: [{ command: "/usr/bin/false" }] } }
      })
      const { settings } = yield* trusting(root, "hooks.PreToolUse")
      expect(settings.hooks?.PreToolUse).toEqual([mine, { command: "/usr/bin/false" }])
    }))

  it.scoped("does not lift what the user denies", () =>
    Effect.gen(function*() {
      const root = yield* workspace({
        [userFile]: { permission: { bash: { "rm *": "deny" } } },
        [file]: { permission: { bash: { "*": "allow" } } }
      })
      const { settings } = yield* trusting(root, "permission.bash")
      expect(settings.permission).toEqual([
        { permission: "bash", pattern: "rm *", action: "deny" },
        { permission: "bash", pattern: "*", action: "allow" },
        { permission: "bash", pattern: "rm *", action: "deny" }
      ])
    }))

  it.scoped("is for one place: the same file elsewhere needs trust again", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ [file]: wide, "other/skein.json": wide, "other/.git/HEAD": "" })
      yield* trusting(root, "summaries")
      expect((yield* loadIn(root)).settings.summaries).toBe(true)
      expect((yield* loadIn(root, { at: "other" })).settings.summaries).toBeUndefined()
    }))

  it.scoped("is refused for a value that no longer exists, or is not shown", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ [file]: { summaries: true, telemetry: { endpoint: "http://{env:HOST}" } } })
      const { widenings } = yield* loadIn(root)
      const allow = (...ids: ReadonlyArray<string>) => as(root, Trust.allow({ directory: join(root, "project") }, ids))
      const [first = "", second = ""] = widenings.map(({ id }) => id)
      expect((yield* Effect.flip(allow(first, "0123456789ab"))).message).toMatch(/Nothing here has the id 0123456789ab/)
      expect((yield* Effect.flip(allow(first, second))).message).toMatch(/^telemetry.endpoint .* cannot be trusted/)
      expect(untrusted(yield* loadIn(root))).toEqual(["summaries untrusted", "telemetry.endpoint fixed"])
    }))

  it.scoped("can be revoked, even if its value no longer exists", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ [file]: { summaries: true, limits: { concurrency: 99 } } })
      const fs = yield* FileSystem.FileSystem
      const { widenings } = yield* trusting(root, "summaries", "limits.concurrency")
      yield* fs.writeFileString(join(root, file), JSON.stringify({ limits: { concurrency: 99 } }))
      const review = as(root, Trust.review({ directory: join(root, "project") }))
      expect((yield* review).map(({ key, state }) => `${key} ${state}`)).toEqual([
        "limits.concurrency trusted",
        "summaries gone"
      ])
      yield* as(root, Trust.revoke(widenings.map(({ id }) => id)))
      expect((yield* review).map(({ key, state }) => `${key} ${state}`)).toEqual(["limits.concurrency untrusted"])
      expect((yield* Effect.flip(as(root, Trust.revoke(["0123456789ab"])))).message).toContain("Nothing with the id")
    }))

  it.scoped("is empty if its file is unreadable, and only its user can read the file", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ [file]: { summaries: true } })
      const fs = yield* FileSystem.FileSystem
      const path = join(root, "home/.local/share/skein/trust.json")
      yield* trusting(root, "summaries")
      expect((yield* fs.stat(path)).mode & 0o777).toBe(0o600)
      yield* fs.writeFileString(path, "{\"version\": 2}")
      const loaded = yield* loadIn(root)
      expect(loaded.settings.summaries).toBeUndefined()
      expect(loaded.warnings.map(({ message }) => message)).toEqual([
        expect.stringMatching(/^The trust file .*trust\.json cannot be read, so nothing is trusted/),
        expect.stringMatching(/^summaries is ignored/)
      ])
    }))
})
