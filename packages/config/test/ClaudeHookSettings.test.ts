import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { expect, layer } from "@effect/vitest"
import { DataDirs } from "@skein/config/DataDirs"
import * as Trust from "@skein/config/Trust"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { formatIssue, loadIn, workspace } from "./workspace.ts"

const file = "project/.claude/settings.json"

/** The hooks before and after trusting everything that can be trusted, and the messages. */
const read = Effect.fnUntraced(function*(hooks: unknown) {
  const root = yield* workspace({ [file]: { hooks }, "project/guard.sh": "exit 0\n" })
  const { settings, warnings, widenings } = yield* loadIn(root)
  const trust = Trust.allow({ directory: join(root, "project") }, widenings.map(({ id }) => id)).pipe(
    Effect.provide(DataDirs.layer()),
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["HOME", join(root, "home")]])))
  )
  yield* trust
  return {
    root,
    before: settings.claude_hooks,
    after: (yield* loadIn(root)).settings.claude_hooks,
    said: warnings.map((issue) => formatIssue(root, issue)).filter((line) => !line.includes("it may be trusted"))
      .map((line) => line.replace(/^[^ ]* /, ""))
  }
})

const command = (line: string, more = {}) => ({ type: "command", command: line, ...more })

layer(NodeFileSystem.layer)("env in settings.json of Claude Code", (it) => {
  it.scoped("sets variables for commands, once each is trusted", () =>
    Effect.gen(function*() {
      const root = yield* workspace({ [file]: { env: { NODE_ENV: "test", DEBUG: 1, "not a name": "x", LIST: [] } } })
      const { settings, warnings, widenings } = yield* loadIn(root)
      expect(settings.env).toBeUndefined()
      expect(widenings.map(({ key }) => key)).toEqual(["env.NODE_ENV", "env.DEBUG"])
      const lines = warnings.map((issue) => formatIssue(root, issue))
      expect(lines.filter((line) => line.includes("is not a variable")).length).toBe(2)
      expect(lines.join("\n")).toContain("env.NODE_ENV is ignored: a project's file sets it only with your trust")
      yield* Trust.allow({ directory: join(root, "project") }, widenings.map(({ id }) => id)).pipe(
        Effect.provide(DataDirs.layer()),
        Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["HOME", join(root, "home")]])))
      )
      expect((yield* loadIn(root)).settings.env).toEqual({ NODE_ENV: "test", DEBUG: "1" })
    }))
})

layer(NodeFileSystem.layer)("modes in settings.json of Claude Code", (it) => {
  it.scoped.each([["acceptEdits"], ["bypassPermissions"], ["dontAsk"]])(
    "loosen nothing, which is reported: %s",
    ([mode]) =>
      Effect.gen(function*() {
        const root = yield* workspace({ [file]: { permissions: { defaultMode: mode } } })
        const { settings, warnings, widenings } = yield* loadIn(root)
        expect(warnings.map(({ message }) => message)).toEqual([expect.stringContaining("permissions.defaultMode")])
        expect(widenings).toEqual([])
        expect(settings.permission ?? []).toEqual([])
      })
  )
})

layer(NodeFileSystem.layer)("hooks in settings.json of Claude Code", (it) => {
  it.scoped("are ignored unless they are trusted", () =>
    Effect.gen(function*() {
      const PreToolUse = [{
        matcher: "Edit|Write",
        hooks: [command("\"$CLAUDE_PROJECT_DIR\"/guard.sh", { timeout: 5 })]
      }]
      const Stop = [{ hooks: [command("a"), command("b")] }]
      const { after, before, root, said } = yield* read({ PreToolUse, Stop })
      expect(before).toBeUndefined()
      expect(after).toEqual({ PreToolUse, Stop })
      expect(said).toEqual([])
      // Trusting a command includes the script that it runs, however its path is written.
      const fs = yield* FileSystem.FileSystem
      yield* fs.writeFileString(join(root, "project/guard.sh"), "touch pwned\n")
      expect((yield* loadIn(root)).settings.claude_hooks).toEqual({ Stop })
    }))

  it.scoped("do not run if the file disables them", () =>
    Effect.gen(function*() {
      const load = Effect.fnUntraced(function*(disableAllHooks: unknown) {
        const root = yield* workspace({ [file]: { disableAllHooks, hooks: { Stop: [{ hooks: [command("a")] }] } } })
        return (yield* loadIn(root)).widenings.map(({ key }) => key)
      })
      expect(yield* load(true)).toEqual([])
      expect(yield* load(false)).toEqual(["claude_hooks.Stop"])
    }))

  it.scoped("are reported once if they cannot run, and the others run", () =>
    Effect.gen(function*() {
      const { after, said } = yield* read({
        SessionEnd: [{ hooks: [command("a")] }],
        PermissionRequest: [{ matcher: "Bash", hooks: [command("a")] }],
        Wonder: [],
        Stop: [
          { hooks: [{ type: "prompt", prompt: "x" }, command("a", { timeout: "soon", async: true }), command("b")] },
          { matcher: 1, hooks: [command("c")] },
          "d"
        ],
        Notification: {}
      })
      expect(after).toEqual({
        SessionEnd: [{ hooks: [command("a")] }],
        PermissionRequest: [{ matcher: "Bash", hooks: [command("a")] }],
        Stop: [{ hooks: [command("a"), command("b")] }]
      })
      expect(said).toEqual([
        "hooks.Wonder: Skein does not know this event, and does not run its hooks",
        "hooks.Stop: a hook of the type prompt does not run: Skein runs only commands",
        "hooks.Stop: its timeout is not a number of seconds up to 3600, so it has 60",
        "hooks.Stop.async: Skein does not know it; the hook runs without it",
        "hooks.Stop: its matcher is not text, so its hooks do not run",
        "hooks.Stop: this is not an object with a list of hooks, and does not run",
        "hooks.Notification: these must be a list, and do not run"
      ])
    }))
})
