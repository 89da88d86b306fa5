/** What the rules say of a line of bash, for tests: the tool's own questions, decided by the real broker. */
import { Permission, type Subject } from "@skein/core/Permission"
import { editingBy, evaluate } from "@skein/core/Ruleset"
import * as Skein from "@skein/core/Skein"
import type { SessionID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import { type Action, fromConfig, type PermissionConfig } from "@skein/domain/Rule"
import { make } from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { confinedAsks, Grants, type Need } from "../../src/internal/bash/confinedAsks.ts"
import type { SandboxLimits } from "../../src/SandboxPlace.ts"
import { Workspace } from "../workspace.ts"

const id = "ses_1" as SessionID
const session = { id, rootID: id, depth: 0, projectID: "p", directory: "/p" }

/** Rules that allow much by wildcards, forbid `touch`, and everything outside of the directory. */
const wide: PermissionConfig = {
  read: "allow",
  bash: {
    "*": "ask",
    ...Object.fromEntries(
      `git cat ls echo find rg sed sort uniq awk tar xargs env timeout nohup command nice stdbuf setsid flock time printf test
      read declare export let unset cd head tail wc grep diff jq npm make cargo cp mv mkdir tee python3 node bash sh curl true [
      less od xxd base64 gcc gcc-12 clang-15 go wget npx pnpm diff rg du jq date md5sum ls dd exec eval source sudo exit set local wait builtin : false yarn rustc gzip gunzip xz mypy ln`
        .split(/\s+/)
        .map((name) => [
          `${name} *`,
          "allow" as const
        ])
    ),
    "node --test *": "allow",
    "touch *": "deny"
  },
  edit: "ask",
  external_directory: "deny"
}

const strictness: Record<Action, number> = { allow: 0, ask: 1, deny: 2 }

/** A sandbox that holds: it sees the system, and has no network. */
const limits: SandboxLimits = {
  network: false,
  answers: true,
  sees: (path) => path.startsWith("/usr/"),
  isPrivate: (path) => path.startsWith("/tmp/skein-private")
}

/** The strictest answer to all that a line asks for; in a mode with a sandbox, or else without one. */
export const decided = (
  command: string,
  rules: PermissionConfig = wide,
  sandboxed?: Mode,
  mode: Mode = sandboxed ?? "ask",
  needs: ReadonlyArray<Need> = []
) =>
  Effect.gen(function*() {
    const { asks } = yield* Workspace
    const { decide } = yield* Permission
    const subject: Subject = {
      session,
      path: ["build"],
      mode,
      rules: fromConfig(rules),
      ceilings: []
    }
    const needed = yield* asks("bash", { command }, {
      reading: (path) => evaluate(subject.rules, "read", path) ?? "ask",
      editing: (path) => editingBy(subject.rules, path)
    })
    const asked = sandboxed === undefined ? needed : confinedAsks(needed, needs, limits, new Grants())
    const answers = yield* Effect.forEach(asked, (ask) => decide(subject, { name: "bash", permission: "bash" }, ask))
    return answers.reduce<Action>((a, b) => (strictness[a] >= strictness[b] ? a : b), "allow")
  })

/** A workspace and a broker. */
export const layerDecisions = Layer.merge(Workspace.layer, Skein.layer({ provider: make({}).layer }))
