/** The PATH may name directories of the project, as it does below `npx`: what lies there is not what its name says. */
import { describe, expect, it } from "@effect/vitest"
import { defaultRules } from "@skein/core/Agent"
import { fromConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { afterEach, vi } from "vitest"
import { decided, layerDecisions } from "./support/decisions.ts"
import { layerIn, runIn, works, world } from "./support/sandbox.ts"
import { Workspace } from "./workspace.ts"

/** Writes programs that leave a file when they are run. */
const plant = (at: (path: string) => string, names: ReadonlyArray<string>) => {
  fs.mkdirSync(at("tools"), { recursive: true })
  for (const name of names) {
    fs.writeFileSync(at(`tools/${name}`), `#!/bin/sh\necho ${name} >> "${at("PWNED")}"\n`, { mode: 0o755 })
  }
}

const first = (directory: string) => vi.stubEnv("PATH", `${directory}:${process.env["PATH"] ?? ""}`)

describe("a program of the project on the PATH", () => {
  afterEach(() => vi.unstubAllEnvs())

  it.effect("is not run by default, nor by a wildcard for the program whose name it has", () =>
    Effect.gen(function*() {
      first("tools")
      yield* Effect.gen(function*() {
        const { at } = yield* Workspace
        plant(at, ["rg", "git", "sort", "echo"])
        fs.mkdirSync(at("src"))
        const rules = [...defaultRules, ...fromConfig({ bash: { "git *": "allow", "rg *": "allow" } })]
        for (const line of ["rg x", "git status", "ls | sort", "timeout 5 rg x", "find . -exec rg x {} +"]) {
          expect(yield* decided(line, rules), line).toBe("ask")
        }
        for (const line of ["ls", "echo a", "cat x", "cd src && ls"]) {
          expect(yield* decided(line, rules), line).toBe("allow")
        }
        // Where it stands, a relative entry leads nowhere; but nobody knows whether that works.
        expect(yield* decided("cd src; rg x", rules)).toBe("ask")
        expect(fs.existsSync(at("PWNED"))).toBe(false)
      }).pipe(Effect.provide(layerDecisions))
    }))

  it.live("is not what Skein runs itself", () =>
    Effect.gen(function*() {
      first("tools")
      yield* Effect.gen(function*() {
        const { at, call } = yield* Workspace
        plant(at, ["bash", "cat", "sh"])
        expect((yield* call("bash", { command: "echo a" })).output).toBe("a\n")
        expect(fs.existsSync(at("PWNED"))).toBe(false)
      }).pipe(Effect.provide(Workspace.layer))
    }))

  it.live.skipIf(!works)("is not what confines commands", () =>
    Effect.scoped(Effect.gen(function*() {
      const { at, repo, top } = yield* world
      plant(at, ["bwrap"])
      first(at("tools"))
      const { code } = yield* runIn({ directory: repo, approved: [] }, "true").pipe(
        Effect.provide(layerIn(top, { directory: repo }))
      )
      expect(code).toBe(0)
      expect(fs.existsSync(at("PWNED"))).toBe(false)
    })))

  it.live.skipIf(!works)(
    "is not changed by commands where it is Skein itself",
    () =>
      Effect.scoped(Effect.gen(function*() {
        const { at, repo, top } = yield* world
        for (const name of ["skein", "search", "other"]) {
          fs.mkdirSync(at(`node_modules/${name}`), { recursive: true })
          fs.writeFileSync(at(`node_modules/${name}/main.js`), "")
          fs.writeFileSync(at(`node_modules/${name}/package.json`), JSON.stringify({ dependencies: { search: "1" } }))
        }
        yield* Effect.gen(function*() {
          const run = (line: string) => runIn({ directory: repo, approved: [] }, line)
          for (const name of ["skein", "search"]) {
            expect(yield* run(`echo x > node_modules/${name}/main.js`), name).not.toMatchObject({ code: 0 })
            expect(yield* run(`mv node_modules/${name} y`), name).not.toMatchObject({ code: 0 })
          }
          expect(yield* run("mv node_modules x"), "all of them").not.toMatchObject({ code: 0 })
          expect(yield* run("echo x > node_modules/other/main.js")).toMatchObject({ code: 0 })
        }).pipe(Effect.provide(layerIn(top, { installed: at("node_modules/skein/main.js") })))
      }))
  )
})
