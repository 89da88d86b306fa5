/** The packages can be published: packed, installed into an empty project, typed and run there. */
import { execFile } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { install, pack, type Tarball } from "../scripts/release/install.mjs"
import { packagesOf } from "../scripts/release/packages.mjs"
import { rehearse } from "../scripts/release/rehearse.mjs"
import { startLlm } from "./support/llm.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("..", import.meta.url))
const bin = (name: string) => join(root, "node_modules", ".bin", name)
const directory = mkdtempSync(join(tmpdir(), "skein-packed-"))
const project = join(directory, "project")

const { devDependencies }: { readonly devDependencies: Record<string, string> } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8")
)

const pick = (...names: ReadonlyArray<string>) => Object.fromEntries(names.map((name) => [name, devDependencies[name]]))

/** A program that asks once, and then reads what was stored. */
const stored = `
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import * as OpenAi from "@skein/provider/OpenAi"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

const skein = Skein.layer({ provider: OpenAi.layer, storage: Sqlite.layer({ filename: "sessions.db" }) })
const asked = Effect.gen(function*() {
  const session = yield* Session.create({ directory: process.cwd(), agent: "build" })
  yield* Session.prompt(session.id, "Where is the CLI entry?")
  return session.id
})
const id = await Effect.runPromise(Effect.provide(asked, skein))
const read = Effect.flatMap(Effect.flatMap(Session, (sessions) => sessions.messages(id)), (messages) => Console.log(messages.length))
await Effect.runPromise(Effect.provide(read, skein))
`

let tarballs: ReadonlyArray<Tarball>

beforeAll(async () => {
  tarballs = await pack(packagesOf().filter(({ manifest }) => manifest["bin"] === undefined), directory)
  install(project, tarballs, {
    devDependencies: pick("@effect/vitest", "vitest", "@types/node"),
    // The only override that a user needs, and only for tests with vitest 4: @effect/vitest asks for vitest 3.
    overrides: { "@effect/vitest": { vitest: "$vitest" } }
  })
  cpSync(join(root, "test", "examples"), join(project, "src"), { recursive: true })
  for (const name of ["workspace.test.ts", "storage.ts", "config.ts"]) {
    cpSync(join(root, "test", "readmes", name), join(project, "src", name))
  }
  writeFileSync(join(project, "src", "stored.ts"), stored)
  writeFileSync(
    join(project, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        module: "nodenext",
        target: "es2022",
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        types: ["node"],
        rootDir: "src",
        outDir: "out"
      },
      include: ["src"]
    })
  )
}, 240_000)

afterAll(() => rmSync(directory, { recursive: true, force: true }))

it(
  "types the examples against the packed declarations, and runs the one that embeds",
  { timeout: 120_000 },
  async () => {
    const types = await run(process.execPath, [bin("tsc"), "-p", project], { cwd: project }).catch((error) => error)
    expect(types.stdout).toBe("")
    const llm = await startLlm(() => ({ text: "It is src/bin.ts." }))
    const { stdout } = await run(process.execPath, ["out/embed.js"], {
      cwd: project,
      env: { ...process.env, OPENAI_BASE_URL: llm.url, OPENAI_API_KEY: "sk-test", OPENAI_MODEL: "" }
    })
    await llm.close()
    expect(stdout.trim()).toBe("It is src/bin.ts.")
    expect(llm.requests.at(0)?.tools).toEqual(expect.arrayContaining(["read", "grep", "task"]))
  }
)

it("runs a user's tests, of an agent tree and of one that works on files", { timeout: 120_000 }, async () => {
  const { stdout } = await run(process.execPath, ["node_modules/vitest/vitest.mjs", "run", "src"], {
    cwd: project,
    env: { ...process.env, NO_COLOR: "1" }
  })
  expect(stdout).toMatch(/Tests\s+2 passed/)
})

it("stores sessions in SQLite without a compiler", async () => {
  const llm = await startLlm(() => ({ text: "It is src/bin.ts." }))
  const { stdout } = await run(process.execPath, ["out/stored.js"], {
    cwd: project,
    env: { ...process.env, OPENAI_BASE_URL: llm.url, OPENAI_API_KEY: "sk-test", OPENAI_MODEL: "" }
  })
  await llm.close()
  expect(stdout.trim()).toBe("2")
  const { version } = JSON.parse(readFileSync(join(project, "node_modules", "better-sqlite3", "package.json"), "utf8"))
  expect(version).toMatch(/^13\./)
})

it("contains only what is built", () => {
  for (const { files, name } of tarballs) {
    const others = files.filter(({ path }) =>
      !/^(dist\/.+\.(js|d\.ts)|dist\/THIRD-PARTY.txt|LICENSE|README\.md|package\.json)$/.test(path)
    )
    expect(others, name).toEqual([])
  }
  // The licences of bundled code are included.
  const withLicences = tarballs.filter(({ files }) => files.some(({ path }) => path === "dist/THIRD-PARTY.txt"))
  expect(withLicences.map(({ name }) => name)).toEqual(["@skein/storage"])
})

it("keeps internals closed", async () => {
  const probe =
    `import("@skein/core/internal/broker").then(() => console.log("open"), (error) => console.log(error.code))`
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", probe], { cwd: project })
  expect(stdout.trim()).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED")
})

it("a release packs, installs and tries a package, and lists its content", { timeout: 240_000 }, async () => {
  const lines: Array<string> = []
  const [domain] = packagesOf()
  if (domain === undefined) throw new Error("there is no package")
  const [tarball] = await rehearse([domain], mkdtempSync(join(directory, "rehearsed-")), (line) => lines.push(line))
  expect(lines).toContainEqual(
    expect.stringMatching(/^@skein\/domain {2}[\d.]+ kB, [\d.]+ kB unpacked, \d+ files: .+\.tgz$/)
  )
  expect(lines).toContainEqual(expect.stringMatching(/^ {2}dist\/ {2}\d+ files, [\d.]+ kB$/))
  expect(tarball?.files.map(({ path }) => path)).toEqual(
    expect.arrayContaining(["LICENSE", "README.md", "dist/Event.js", "dist/Event.d.ts"])
  )
})
