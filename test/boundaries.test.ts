import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { bans } from "../scripts/bans.mjs"
import { check } from "../scripts/boundaries.mjs"

const made: Array<string> = []

/** A workspace in its own directory: every package with a file, declaring the given dependencies. */
const workspace = (files: Record<string, string>, declared: Record<string, ReadonlyArray<string>> = {}): string => {
  const top = mkdtempSync(join(tmpdir(), "skein-boundaries-"))
  made.push(top)
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(top, file)), { recursive: true })
    writeFileSync(join(top, file), text)
  }
  const packages = new Set(Object.keys(files).flatMap((file) => /^packages\/([^/]+)\//.exec(file)?.[1] ?? []))
  write("package.json", JSON.stringify({ devDependencies: { vitest: "1.0.0", "@effect/vitest": "1.0.0" } }))
  for (const name of packages) {
    const own = Object.fromEntries((declared[name] ?? []).map((dependency) => [dependency, "1.0.0"]))
    const text = JSON.stringify({ dependencies: own, peerDependencies: { effect: "^3.0.0" } }, null, 2)
    write(`packages/${name}/package.json`, text)
  }
  for (const [file, text] of Object.entries(files)) write(file, text)
  return top
}

/** The violations of one file that declares all its imports, each as "file:line rule". */
const of = (file: string, text: string, declared: ReadonlyArray<string> = []): ReadonlyArray<string> => {
  const owner = file.split("/")[1] ?? ""
  return check(workspace({ [file]: text }, { [owner]: declared })).map((found) =>
    `${found.file}:${found.line} ${found.rule}`
  )
}

afterEach(() => {
  for (const top of made.splice(0)) rmSync(top, { recursive: true })
})

describe("the architecture check", () => {
  it("lets the program import its development dependencies, because they are built in", () => {
    const top = workspace({ "packages/cli/src/bin.ts": `import "@skein/core/Bus"\nimport "effect/Effect"\n` })
    const declare = (manifest: object) =>
      writeFileSync(join(top, "packages/cli/package.json"), JSON.stringify(manifest, undefined, 2))
    declare({ name: "skein", devDependencies: { "@skein/core": "1.0.0", effect: "3.0.0" } })
    expect(check(top)).toEqual([])
    declare({ name: "skein", devDependencies: { "@skein/core": "1.0.0", "@skein/tools": "1.0.0", effect: "3.0.0" } })
    expect(check(top)).toMatchObject([{ rule: "unused", line: 5 }])
    declare({ name: "@skein/cli", devDependencies: { "@skein/core": "1.0.0", effect: "3.0.0" } })
    expect(check(top)).toMatchObject([{ rule: "undeclared", line: 1 }, { rule: "undeclared", line: 2 }])
  })

  it("accepts imports along the arrow", () => {
    const top = workspace(
      {
        "packages/domain/src/Id.ts": `import * as Schema from "effect/Schema"\nexport const Id = Schema.String\n`,
        "packages/core/src/Bus.ts": `import type { Id } from "@skein/domain/Id"\nimport { x } from "./internal/x.ts"\n`,
        "packages/core/src/internal/x.ts": `export const x = 1\nexport { y } from "./y.ts"\n`,
        "packages/core/test/Bus.test.ts":
          `import { it } from "@effect/vitest"\nimport { Bus } from "@skein/core/Bus"\n`,
        "packages/core/test/internal/x.test.ts":
          `import "@skein/testing/Script"\nimport { x } from "../../src/internal/x.ts"\n`,
        "packages/cli/src/bin.ts": `import "node:fs"\nimport "@skein/core/Bus"\nvoid import("@skein/storage/Sqlite")\n`,
        "test/whole.test.ts": `import "vitest"\nimport "@skein/cli/bin"\nimport "../scripts/x.mjs"\n`
      },
      { core: ["@skein/domain"], cli: ["@skein/core", "@skein/storage"] }
    )
    expect(check(top)).toEqual([])
  })

  it.each([
    ["domain", "core"],
    ["core", "tools"],
    ["tools", "provider"],
    ["provider", "offline"],
    ["offline", "provider"],
    ["provider", "storage"],
    ["storage", "config"],
    ["config", "cluster"],
    ["cluster", "cli"],
    ["testing", "tools"],
    ["server", "cli"],
    ["api", "core"],
    ["client", "server"],
    ["client", "core"],
    ["view", "core"],
    ["view", "client"]
  ])("rejects an import against the arrow: %s -> %s", (from, to) => {
    const text = `\nimport { X } from "@skein/${to}/X"\nexport const y = X\n`
    expect(of(`packages/${from}/src/Y.ts`, text, [`@skein/${to}`])).toEqual([`packages/${from}/src/Y.ts:2 arrow`])
  })

  it.each([
    ["export … from", `export { X } from "@skein/tools/X"\nexport const y = 1`],
    ["import()", `export const x = () => import("@skein/tools/X")`],
    ["a type", `export type X = import("@skein/tools/X").X`]
  ])("detects an import written as %s", (_, text) => {
    expect(of("packages/core/src/Y.ts", text, ["@skein/tools"])).toEqual(["packages/core/src/Y.ts:1 arrow"])
  })

  it("reads code, not comments and strings", () => {
    const text = `// import "@skein/cli/X"; Date.now()\nexport const y = \`import "@skein/cli/X"; Date.now()\`\n`
    expect(of("packages/core/src/Y.ts", text)).toEqual([])
  })

  it("rejects a package outside the arrow", () => {
    expect(of("packages/extra/src/X.ts", "export const x = 1")).toEqual(["packages/extra/package.json:1 arrow"])
  })

  it("rejects the testing kit in a source", () => {
    const found = of("packages/cli/src/X.ts", `import "@skein/testing/Script"`, ["@skein/testing"])
    expect(found).toEqual(["packages/cli/src/X.ts:1 testing"])
  })

  it.each(["packages/cli/src/X.ts", "packages/cli/test/X.test.ts", "test/X.test.ts"])(
    "rejects another package's internal files: %s",
    (file) => {
      const top = workspace({ [file]: `import "@skein/core/internal/x"` }, { cli: ["@skein/core"] })
      const found = check(top).filter(({ rule }) => rule !== "unused")
      expect(found).toMatchObject([{ file, line: 1, rule: "internal" }])
    }
  )

  it.each([
    ["core", "ai"],
    ["core", "@effect/platform/FileSystem"],
    ["core", "@effect/sql/SqlClient"],
    ["core", "node:child_process"],
    ["domain", "node:path"],
    ["domain", "@cfworker/json-schema"]
  ])("keeps %s free of %s", (owner, specifier) => {
    const text = `export const x = 1\n\nimport "${specifier}"\n`
    expect(of(`packages/${owner}/src/X.ts`, text, [specifier])).toEqual([`packages/${owner}/src/X.ts:3 pure`])
  })

  it("lets core validate values against a JSON Schema", () => {
    const name = "@cfworker/json-schema"
    expect(of("packages/core/src/X.ts", `import { Validator } from "${name}"\nexport const x = Validator`, [name]))
      .toEqual([])
  })

  it.each(["effect", "@effect/platform", "@skein/core"])("rejects the index of %s", (specifier) => {
    const text = `import { X } from "${specifier}"`
    expect(of("packages/cli/src/X.ts", text, [specifier])).toEqual(["packages/cli/src/X.ts:1 sub-path"])
  })

  it.each([
    ["a star", `export const x = 1\nexport * from "./Y.ts"`, 2],
    ["names alone", `export { X } from "./X.ts"\nexport type { Y } from "./Y.ts"`, 1]
  ])("rejects a barrel of %s", (_, text, line) => {
    expect(of("packages/tools/src/all.ts", text)).toEqual([`packages/tools/src/all.ts:${line} barrel`])
  })

  it.each([
    ["packages/tools/src/X.ts", "../../core/src/Bus.ts"],
    ["packages/tools/test/X.test.ts", "../../core/src/Bus.ts"],
    ["test/X.test.ts", "../packages/core/src/Bus.ts"]
  ])("rejects a relative import that leaves its package: %s", (file, specifier) => {
    const [found] = check(workspace({ [file]: `import "${specifier}"` }))
    expect(found).toMatchObject({ file, line: 1, rule: "relative" })
  })

  it.each([
    ["packages/tools/src/X.ts", "ai"],
    ["packages/tools/src/X.ts", "vitest"],
    ["packages/tools/src/X.ts", "@skein/core/Bus"],
    ["packages/tools/test/X.test.ts", "ai"],
    ["test/X.test.ts", "ai"]
  ])("rejects in %s the import of %s, which is not declared", (file, specifier) => {
    expect(of(file, `import "${specifier}"`)).toEqual([`${file}:1 undeclared`])
  })

  it("rejects a declared package that nothing imports", () => {
    expect(of("packages/tools/src/X.ts", "export const x = 1", ["@skein/core"])).toEqual([
      "packages/tools/package.json:3 unused"
    ])
  })

  it("rejects a source of more than 600 lines, and accepts 600", () => {
    expect(of("packages/tools/src/X.ts", "export {}\n".repeat(600))).toEqual([])
    expect(of("packages/tools/src/X.ts", "export {}\n".repeat(601))).toEqual(["packages/tools/src/X.ts:601 file-size"])
    expect(of("packages/tools/test/X.test.ts", "export {}\n".repeat(601))).toEqual([])
  })

  const here = "packages/tools/src"
  const none = { circles: [], closures: [] }

  it.each([
    ["two files", { "A.ts": ["./B.ts"], "B.ts": ["./A.ts"] }, "A.ts -> B.ts -> A.ts"],
    [
      "three files in two folders",
      { "A.ts": ["./internal/b/b.ts"], "internal/b/b.ts": ["../c.ts"], "internal/c.ts": ["../A.ts"] },
      "A.ts -> internal/b/b.ts -> internal/c.ts -> A.ts"
    ]
  ])("rejects a cycle of %s, once, with its path", (_, imports, way) => {
    const files = Object.entries(imports).map(([file, specifiers]) =>
      [`${here}/${file}`, specifiers.map((each) => `import "${each}"\n`).join("")] as const
    )
    const found = check(workspace(Object.fromEntries(files)), none)
    expect(found).toMatchObject([{ file: `${here}/A.ts`, line: 1, rule: "circle" }])
    expect(found[0]?.message.replaceAll(`${here}/`, "")).toContain(`${way}: `)
  })

  it.each([
    ["import type", `import type { B } from "./B.ts"\nexport type A = B`],
    ["import()", `export const a = () => import("./B.ts")`],
    ["a type", `export type A = import("./B.ts").B`],
    ["export … from", `export type { B } from "./B.ts"\nexport const a = 1`]
  ])("detects a cycle through %s", (_, text) => {
    const top = workspace({
      [`${here}/A.ts`]: text,
      [`${here}/B.ts`]: `import type { A } from "./A.ts"\nexport type B = A`
    })
    expect(check(top, none)).toMatchObject([{ file: `${here}/A.ts`, line: 1, rule: "circle" }])
  })

  it("reports each of two cycles, and not the files that only lead into them", () => {
    const top = workspace({
      [`${here}/A.ts`]: `import "./B.ts"`,
      [`${here}/B.ts`]: `import "./A.ts"`,
      [`${here}/C.ts`]: `import "./A.ts"\nimport "./D.ts"`,
      [`${here}/D.ts`]: `import "./E.ts"`,
      [`${here}/E.ts`]: `import "./D.ts"`
    })
    expect(check(top, none).map(({ file, rule }) => `${file} ${rule}`)).toEqual([
      `${here}/A.ts circle`,
      `${here}/D.ts circle`
    ])
  })

  it("rejects rooms that import each other, even if no file imports itself", () => {
    const top = workspace({
      [`${here}/internal/one/a.ts`]: `import "../two/b.ts"`,
      [`${here}/internal/two/b.ts`]: `import "../three.ts"`,
      [`${here}/internal/three.ts`]: `import "./one/c.ts"`,
      [`${here}/internal/one/c.ts`]: "export {}"
    })
    expect(check(top, none)).toMatchObject([{ file: `${here}/internal/one/a.ts`, line: 1, rule: "rooms" }])
  })

  it("lets a service and its room import each other, and loose files of internal each other", () => {
    const top = workspace({
      [`${here}/A.ts`]: `import "./internal/a/make.ts"`,
      [`${here}/B.ts`]: "export {}",
      [`${here}/internal/a/make.ts`]: `import "../../B.ts"\nimport "../x.ts"`,
      [`${here}/internal/x.ts`]: `import "./y.ts"`,
      [`${here}/internal/y.ts`]: "export {}"
    })
    expect(check(top, none)).toEqual([])
  })

  const core = "packages/core/src/internal"

  it.each([
    ["up", "live", "tasks"],
    ["to the side", "turn", "command"],
    ["to a room without a floor", "turn", "attic"]
  ])("rejects an import of a room that goes %s", (_, from, to) => {
    const top = workspace({ [`${core}/${from}/a.ts`]: `import "../${to}/b.ts"`, [`${core}/${to}/b.ts`]: "export {}" })
    expect(check(top, none)).toMatchObject([{ file: `${core}/${from}/a.ts`, line: 1, rule: "floors" }])
  })

  it("lets a room import any room below it, and its own files", () => {
    const top = workspace({
      [`${core}/tasks/a.ts`]: `import "../live/b.ts"\nimport "./c.ts"`,
      [`${core}/tasks/c.ts`]: "export {}",
      [`${core}/live/b.ts`]: "export {}"
    })
    expect(check(top, none)).toEqual([])
  })

  const functionOf = (lines: number) => [
    ["an arrow function", `export const f = () => {${"\n".repeat(lines - 1)}}`],
    ["a function", `export function f() {${"\n".repeat(lines - 1)}}`],
    ["a generator", `export const f = g(function*() {${"\n".repeat(lines - 1)}})`]
  ]

  it.each(functionOf(151))("rejects %s of more than 150 lines", (_, text) => {
    expect(of(`${here}/X.ts`, `\n${text}`)).toEqual([`${here}/X.ts:2 closure`])
    expect(of("packages/tools/test/X.test.ts", text)).toEqual([])
  })

  it.each(functionOf(150))("accepts %s of 150 lines", (_, text) => {
    expect(of(`${here}/X.ts`, text)).toEqual([])
  })

  it("reports the innermost of long functions", () => {
    const text = `export const f = () => {\n  return () => {${"\n".repeat(160)}}\n}`
    expect(of(`${here}/X.ts`, text)).toEqual([`${here}/X.ts:2 closure`])
  })

  it("exempts the named files and rooms, and nothing with only the same prefix", () => {
    const files = {
      [`${here}/A.ts`]: `import "./B.ts"`,
      [`${here}/B.ts`]: `import "./A.ts"`,
      [`${here}/internal/a/x.ts`]: functionOf(151)[0]?.[1] ?? "",
      [`${here}/internal/ab/x.ts`]: functionOf(151)[0]?.[1] ?? ""
    }
    const found = check(workspace(files), { circles: [`${here}/B.ts`], closures: [`${here}/internal/a`] })
    expect(found).toMatchObject([{ file: `${here}/internal/ab/x.ts`, rule: "closure" }])
  })

  it("rejects a source that does not parse", () => {
    expect(of("packages/tools/src/X.ts", "\nexport const = 1")).toEqual(["packages/tools/src/X.ts:2 syntax"])
  })

  const banned = bans.flatMap((ban) => ban.uses.map((use) => [use, ban] as const))

  it.each(banned)("bans %s in sources and not in tests", (use, ban) => {
    const text = use.startsWith("node:")
      ? `import * as timers from "${use}"\nexport { timers }`
      : `export const x = () => ${
        use.includes("new ") ? use : use.replace(/^(.*)\(\.\.\.\)/, "f.$1(1, ...g)").replace("()", "(f, 1)")
      }\nexport const y = 1`
    const home = ban.within?.[0]?.slice(0, -1) ?? "packages/tools"
    const [found, ...others] = check(workspace({ [`${home}/src/X.ts`]: text }))
    expect(others).toEqual([])
    expect(found).toMatchObject({ file: `${home}/src/X.ts`, line: 1, rule: "banned" })
    expect(found?.message).toContain(ban.fix)
    expect(of(`${home}/test/X.test.ts`, text)).toEqual([])
    if (ban.within !== undefined) expect(of("packages/tools/src/X.ts", text)).toEqual([])
    for (const allowed of ban.allow ?? []) {
      const file = allowed.endsWith("/") ? `${allowed}x.ts` : allowed
      expect(check(workspace({ [file]: text })).filter(({ rule }) => rule === "banned")).toEqual([])
    }
  })

  it.each([
    ["a property in brackets", `export const x = process["env"]`],
    ["globalThis", `export const x = globalThis.setTimeout`],
    ["an imported name", `import { forkDaemon } from "effect/Effect"\nexport { forkDaemon }`],
    ["an imported name of Node's", `import { env } from "node:process"\nexport { env }`]
  ])("detects a banned use through %s", (_, text) => {
    expect(of("packages/tools/src/X.ts", text)).toEqual(["packages/tools/src/X.ts:1 banned"])
  })

  it.each(["new Date(0)", "schedule.setTimeout", "Effect.ignoreLogged"])("lets %s pass", (text) => {
    expect(of("packages/tools/src/X.ts", `export const x = ${text}`)).toEqual([])
  })

  it("says how to fix each violation", () => {
    const text =
      `import "@skein/cli/X"\nimport "ai"\nimport "effect"\nimport "../../tools/src/X.ts"\nexport * from "./Y.ts"\n`
    const found = check(workspace({ "packages/core/src/X.ts": text }))
    expect(new Set(found.map(({ rule }) => rule))).toEqual(
      new Set(["arrow", "undeclared", "pure", "sub-path", "relative", "barrel"])
    )
    for (const { message } of found) expect(message).toMatch(/[.] [A-Z].*\.$/)
  })
})
