import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import { describeConfig } from "@skein/config/ConfigDescription"
import * as Effect from "effect/Effect"
import { formatIssue, loadFiles, mistakes, userFile } from "./workspace.ts"

layer(NodeFileSystem.layer)("hooks in config", (it) => {
  it.scoped("are read in both forms, with commands relative to the file, and shown as written", () =>
    Effect.gen(function*() {
      const hooks = {
        PreToolUse: [
          { matcher: "bash|edit", command: "./guard.sh --strict", timeout: 60000 },
          {
            matcher: "Write",
            hooks: [{ type: "command", command: "../up.sh", timeout: 5 }, { type: "command", command: "jq ." }]
          }
        ],
        "tool.execute.after": [{ command: "/opt/format" }]
      }
      const loaded = yield* loadFiles({ [userFile]: { hooks } })
      const beside = `${loaded.root}/home/.config/skein`
      expect(loaded.settings.hooks).toEqual({
        PreToolUse: [
          { matcher: "bash|edit", command: `${beside}/guard.sh --strict`, timeout: 60000 },
          {
            matcher: "Write",
            hooks: [
              { type: "command", command: `${beside}/../up.sh`, timeout: 5 },
              { type: "command", command: "jq ." }
            ]
          }
        ],
        "tool.execute.after": [{ command: "/opt/format" }]
      })
      expect(describeConfig(loaded).json).toMatchObject({ hooks })
    }))

  it.scoped("of a project are ignored, and nothing is substituted in them", () =>
    Effect.gen(function*() {
      const mine = [{ command: "/usr/bin/true" }]
      const { root, settings, warnings } = yield* loadFiles({
        [userFile]: { hooks: { PreToolUse: mine } },
        "project/skein.json": { hooks: { PreToolUse: [{ command: "touch PWNED {env:NO_SUCH_VARIABLE}" }], Stop: [] } }
      })
      expect(settings.hooks).toEqual({ PreToolUse: mine })
      expect(warnings.map((issue) => formatIssue(root, issue))).toEqual([
        "project/skein.json:3 hooks.PreToolUse is ignored: a project's file sets it only with your trust, nor can {env:…} and {file:…} be trusted; put it into your own config if you want it",
        "project/skein.json:8 hooks.Stop is ignored: a project's file sets it only with your trust; it may be trusted"
      ])
    }))

  it.scoped("with mistakes are reported with their place", () =>
    Effect.gen(function*() {
      const wrong = (hooks: object) => mistakes({ [userFile]: JSON.stringify({ hooks }) })
      const at = (key: string) => new RegExp(`skein.json:1:\\d+ .*${key}`)
      expect(yield* wrong({ PreToolUze: [] })).toEqual([expect.stringContaining("did you mean \"PreToolUse\"?")])
      expect(yield* wrong({ PreToolUse: [{ matcher: "Notebook.*", command: "x" }] })).toEqual([
        expect.stringContaining("hooks.PreToolUse.0.matcher must be names with | between them")
      ])
      expect(yield* wrong({ PreToolUse: [{ matcher: "*" }] })).toEqual([
        expect.stringContaining("hooks.PreToolUse.0 must be an object with a `command`, or with a list of `hooks`")
      ])
      expect(yield* wrong({ Stop: [{ command: "x", hooks: [] }] })).toEqual([expect.stringMatching(at("hooks.Stop.0"))])
      expect(yield* wrong({ Stop: [{ command: "x", timeout: 0 }] })).toEqual([expect.stringMatching(at("timeout"))])
      expect(yield* wrong({ Stop: [{ command: "x", timeout: 9e9 }] })).toEqual([
        expect.stringContaining(
          "must be a whole number of milliseconds or a time such as \"90s\" or \"30m\", at most an hour"
        )
      ])
      expect(yield* wrong({ Stop: [{ hooks: [{ type: "command", command: "x", timeout: 60000 }] }] })).toEqual([
        expect.stringContaining("must be a number of seconds, at most 3600")
      ])
      expect(yield* wrong({ Stop: [{ hooks: [{ type: "prompt", command: "x" }] }] })).toEqual([
        expect.stringContaining("must be \"command\", found \"prompt\"")
      ])
      expect(yield* wrong({ Stop: [{ command: " " }] })).toEqual([expect.stringContaining("must be a command line")])
    }))
})
