/** The program can be installed from its tarball, in an empty directory and without a compiler, and runs there. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { installProgram } from "../scripts/release/installed.mjs"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"

const directory = mkdtempSync(join(tmpdir(), "skein-program-"))
const project = join(directory, "project")
let program: string

beforeAll(async () => {
  program = await installProgram(directory)
}, 240_000)
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const world = async (script: (request: LlmRequest) => LlmAnswer | string) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url, program, files: { "deep/hay.txt": "a needle\n" } })
  atEnd(llm.close, place.remove)
  return { llm, place }
}

it("installs only the two packages with binaries", () => {
  const modules = join(project, "node_modules")
  expect(readdirSync(modules).filter((name) => !name.startsWith("."))).toEqual(
    expect.arrayContaining(["@vscode", "better-sqlite3", "skein"])
  )
  const { dependencies } = JSON.parse(readFileSync(join(modules, "skein", "package.json"), "utf8"))
  expect(Object.keys(dependencies)).toEqual(["@vscode/ripgrep", "better-sqlite3"])
  expect(dirname(program)).toBe(join(modules, "skein", "bin"))
})

it("prints its version and its help, through the command of npm", () => {
  const started = (...args: ReadonlyArray<string>) =>
    spawnSync(join(project, "node_modules", ".bin", "skein"), args, {
      cwd: directory,
      encoding: "utf8",
      env: { PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`, HOME: directory }
    })
  const { version } = JSON.parse(readFileSync(join(project, "node_modules", "skein", "package.json"), "utf8"))
  expect(started("--version")).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: "" })
  expect(started("--help")).toMatchObject({ status: 0, stdout: expect.stringContaining("skein run"), stderr: "" })
})

it("surveys a directory with the offline model", async () => {
  const { place } = await world(() => "")
  const run = await place.run(["run", "-m", "offline/survey", "--format", "quiet", "Survey this directory"])
  expect(run).toMatchObject({ code: 0, stderr: "" })
  expect(run.stdout).not.toBe("")
})

it("runs tools for a model, and stores the session", async () => {
  const { llm, place } = await world(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? "found"
      : { calls: [{ tool: "grep", args: { pattern: "needle", path: "." } }] }
  )
  expect(await place.run(["run", "-m", "openai/m", "--title", "looking", "--format", "quiet", "look"])).toMatchObject({
    code: 0,
    stdout: "found\n"
  })
  // ripgrep's own binary ran.
  expect(llm.requests.at(-1)?.last).toContain("deep/hay.txt")
  expect((await place.run(["sessions"])).stdout).toContain("looking")
})

it("continues after a crash", async () => {
  const { llm, place } = await world(() => "done")
  const crashed = await place.run(["run", "-m", "openai/m", "--title", "t", "go"], {
    env: { SKEIN_FAILPOINT: "first_chunk:1" }
  })
  expect(crashed.signal).toBe("SIGKILL")
  const [{ id }] = JSON.parse((await place.run(["sessions", "list", "--format", "json"])).stdout)
  expect(await place.run(["sessions", "resume", id])).toMatchObject({ code: 0, stdout: "done\n" })
  expect(llm.requests.at(-1)?.user).toEqual(["go"])
})
