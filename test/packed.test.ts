/** Proves that the packages can be published: packed, installed into an empty project, typed and run there. */
import { execFile } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { startLlm } from "./support/llm.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("..", import.meta.url))
const bin = (name: string) => join(root, "node_modules", ".bin", name)
const packed = ["domain", "core", "provider", "tools", "testing"]
const directory = mkdtempSync(join(tmpdir(), "skein-packed-"))
const project = join(directory, "project")

const manifest = (name: string): { readonly version: string; readonly peerDependencies?: Record<string, string> } =>
  JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"))

const rootManifest: { readonly devDependencies: Record<string, string>; readonly overrides: unknown } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8")
)

const pick = (...names: ReadonlyArray<string>) =>
  Object.fromEntries(names.map((name) => [name, rootManifest.devDependencies[name]]))

beforeAll(async () => {
  await run(process.execPath, [bin("tsc"), "-b", ...packed.map((name) => join("packages", name))], { cwd: root })
  const tarballs = join(directory, "tarballs")
  mkdirSync(tarballs)
  await run("npm", ["pack", "--pack-destination", tarballs, ...packed.flatMap((name) => ["-w", `packages/${name}`])], {
    cwd: root
  })
  mkdirSync(project)
  const files = readdirSync(tarballs)
  const dependencies = Object.fromEntries(packed.map((name) => {
    const file = files.find((each) => each === `skein-${name}-${manifest(name).version}.tgz`)
    return [`@skein/${name}`, `file:../tarballs/${file}`]
  }))
  writeFileSync(
    join(project, "package.json"),
    JSON.stringify({
      name: "a-users-project",
      private: true,
      type: "module",
      dependencies,
      devDependencies: pick("@effect/vitest", "vitest", "@types/node"),
      overrides: rootManifest.overrides
    })
  )
  cpSync(join(root, "test", "examples"), join(project, "src"), { recursive: true })
  cpSync(join(root, "test", "readmes", "workspace.test.ts"), join(project, "src", "workspace.test.ts"))
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
  await run("npm", ["install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"], { cwd: project })
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

it("keeps internals closed", async () => {
  const probe =
    `import("@skein/core/internal/broker").then(() => console.log("open"), (error) => console.log(error.code))`
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", probe], { cwd: project })
  expect(stdout.trim()).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED")
})
