/** The two ways in which the built program starts: from precompiled code, and from modules if that is unusable. */
import { spawnSync } from "node:child_process"
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeEach, expect, it, vi } from "vitest"

vi.setConfig({ testTimeout: 60_000 })

const root = fileURLToPath(new URL("..", import.meta.url))
const copy = mkdtempSync(join(tmpdir(), "skein-start-"))
const bundle = join(copy, "cli", "dist", "bundle")
const cache = join(bundle, "skein.cache")

beforeEach(() => {
  rmSync(copy, { recursive: true, force: true })
  for (const part of ["package.json", "bin", "dist/bundle"]) {
    cpSync(join(root, "packages", "cli", part), join(copy, "cli", part), { recursive: true })
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
})

afterAll(() => rmSync(copy, { recursive: true, force: true }))

const startWith = (env: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [...args], {
    cwd: copy,
    encoding: "utf8",
    input: "",
    env: { PATH: process.env["PATH"], HOME: copy, ...env }
  })
  return { status, stderr, stdout }
}

const program = join(copy, "cli", "bin", "skein.js")

/** Without a cache directory of the user. */
const start = (...args: ReadonlyArray<string>) =>
  startWith({ XDG_CACHE_HOME: join(program, "none") }, ...args, program, "agents")

/** Makes the modules report that they were started. */
const mark = () => writeFileSync(join(bundle, "skein.mjs"), "console.log(\"from the modules\")\n")

const change = (edit: (code: Buffer) => Buffer) => writeFileSync(cache, edit(readFileSync(cache)))

const fromModules = { status: 0, stderr: "", stdout: "from the modules\n" }

it("starts from the compiled code, and does the same from the modules", () => {
  const modules = readFileSync(join(bundle, "skein.mjs"))
  mark()
  const compiled = start()
  expect(compiled).toMatchObject({ status: 0, stderr: "", stdout: expect.stringContaining("explore") })
  writeFileSync(join(bundle, "skein.mjs"), modules)
  rmSync(cache)
  expect(start()).toEqual(compiled)
})

it.each<readonly [damage: string, edit: (code: Buffer) => Buffer]>([
  [
    "has another byte in it",
    (code) => code.fill(~(code.at(code.length >> 1) ?? 0), code.length >> 1, (code.length >> 1) + 1)
  ],
  ["is cut off", (code) => code.subarray(0, code.length >> 1)],
  ["is empty", () => Buffer.alloc(0)],
  ["belongs to another script", (code) => code.fill(0, 0, 4)]
])("starts from the modules if the compiled code %s", (_, edit) => {
  mark()
  change(edit)
  expect(start()).toEqual(fromModules)
})

it("starts from the modules if V8 rejects the code, as that of another Node", () => {
  mark()
  expect(start("--no-opt")).toEqual(fromModules)
})

/** The cache of the user, and runs that may use it. */
const kept = join(copy, ".cache", "skein", "compiled")
const keptFiles = () => readdirSync(kept).map((name) => join(kept, name))
const prompt = () => startWith({}, program, "run", "-m", "offline/survey", "--format", "quiet", "hi")
const agents = () => startWith({}, program, "agents")

it("without compiled code caches what the first prompt compiled, and nothing of other commands", () => {
  rmSync(cache)
  expect(agents()).toMatchObject({ status: 0, stderr: "" })
  expect(keptFiles()).toEqual([])
  expect(prompt()).toMatchObject({ status: 0 })
  const [file = "", ...others] = keptFiles()
  expect(others).toEqual([])
  const code = readFileSync(file)
  expect(code.length).toBeGreaterThan(1_000_000)
  // A valid cache is used, and an invalid one is made again.
  writeFileSync(file, "damaged")
  expect(prompt()).toMatchObject({ status: 0 })
  expect(readFileSync(file).length).toBeGreaterThan(1_000_000)
  const again = readFileSync(file)
  expect(prompt()).toMatchObject({ status: 0 })
  expect(readFileSync(file).equals(again)).toBe(true)
})

it("optimises late, but for the run that keeps its code: V8 takes code only with the flags of that run", () => {
  const spy = join(copy, "spy.cjs")
  writeFileSync(
    spy,
    `const v8 = require("node:v8")
    const { setFlagsFromString } = v8
    v8.setFlagsFromString = (flag) => (console.log(flag), setFlagsFromString(flag))`
  )
  const flags = () => {
    const { status, stderr, stdout } = startWith({}, "--require", spy, program, "run", "-m", "offline/survey", "hi")
    expect({ status, stderr }).toMatchObject({ status: 0, stderr: expect.not.stringContaining("flag") })
    return stdout.match(/^--invocation-count-for-(?:maglev|turbofan)=\d+$/gm)
  }
  expect(flags()).toHaveLength(2)
  rmSync(cache)
  expect(flags()).toBeNull()
  expect(flags()).toHaveLength(2)
  expect(startWith({}, "--require", spy, program, "agents").stdout).not.toContain("--invocation")
})

it("keeps nothing of a run that failed", () => {
  rmSync(cache)
  expect(startWith({}, program, "run", "-m", "openai/none", "hi").status).not.toBe(0)
  expect(keptFiles()).toEqual([])
})

it("runs no compiled code that other users could have put there", () => {
  rmSync(cache)
  prompt()
  mark()
  expect(agents().stdout).toContain("explore")
  chmodSync(kept, 0o777)
  expect(agents()).toEqual(fromModules)
})

it("keeps code for a few versions, and no more", () => {
  rmSync(cache)
  prompt()
  for (const name of ["a", "b", "c", "d", "e"]) writeFileSync(join(kept, `${name}.cache`), "")
  const [own = ""] = keptFiles().filter((file) => !/\/[a-e]\.cache$/.test(file))
  rmSync(own)
  prompt()
  expect(keptFiles()).toHaveLength(4)
  expect(keptFiles()).toContain(own)
})

it.each(["", "home"])("keeps no code in the working directory, with the home %j", (home) => {
  rmSync(cache)
  const before = readdirSync(copy)
  startWith({ XDG_CACHE_HOME: "", HOME: home }, program, "agents")
  expect(readdirSync(copy)).toEqual(before)
})

it("starts from the modules for source maps, which only they have", () => {
  mark()
  expect(start("--enable-source-maps")).toEqual(fromModules)
})

it.each(["--version", "-v", "version"])("%s prints the version, and needs nothing of the program", (flag) => {
  rmSync(bundle, { recursive: true })
  const { version } = JSON.parse(readFileSync(join(copy, "cli", "package.json"), "utf8"))
  expect(startWith({}, program, flag)).toEqual({ status: 0, stderr: "", stdout: `${version}\n` })
})

it("--help loads the declarations of the commands alone, and no library", () => {
  const hook = "import { registerHooks } from 'node:module';let size = 0;"
    + "registerHooks({ load: (url, context, next) => { const found = next(url, context); size += found.source?.length ?? 0; return found } });"
    + "process.on('exit', () => process.stderr.write(String(size)))"
  const { status, stderr, stdout } = startWith({}, "--import", `data:text/javascript,${hook}`, program, "--help")
  expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining("Usage: skein COMMAND") })
  // The declarations have some 40 kilobytes; Effect's core alone has 250.
  expect(Number(stderr)).toBeGreaterThan(20_000)
  expect(Number(stderr)).toBeLessThan(90_000)
})
