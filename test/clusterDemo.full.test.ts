/** `npm run cluster:demo` kills a server, says how long its trees needed, and leaves nothing behind. */
import { spawn } from "node:child_process"
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { expect, it, vi } from "vitest"
import { root } from "../scripts/layout.mjs"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 120_000 })

/** Starts it in a process group of its own, as a terminal does. */
const start = (args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}) => {
  const child = spawn(process.execPath, ["scripts/cluster/demo.mjs", ...args], {
    cwd: root,
    detached: true,
    env: { ...process.env, ...env }
  })
  let text = ""
  const waiting: Array<() => void> = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (piece: string) => {
      text += piece
      for (const look of waiting) look()
    })
  }
  const ended = new Promise<number | string | null>((resolve) => child.once("close", (code, by) => resolve(by ?? code)))
  return {
    child,
    ended,
    text: () => text,
    said: (words: string) =>
      new Promise<void>((resolve) => {
        const look = () => text.includes(words) && resolve()
        waiting.push(look)
        look()
      })
  }
}

const filesOf = (text: string): string => /Log files are in (\S+)/.exec(text)?.[1] ?? expect.fail(text)

it("the demo tells what a kill did, and finds nothing lost or doubled", async () => {
  const demo = start(["--kills", "1", "--every", "3", "--trees", "9"])
  expect(await demo.ended, demo.text()).toBe(0)
  expect(demo.text()).toMatch(/^kill -9 of server \d \(http:.*\): (\d+ trees? at work, all of them continued|no tree)/m)
  expect(demo.text()).toMatch(/^[1-9]\d* prompts answered: 0 effects lost, 0 doubled, 0 trees stuck, 0 invalid/m)
  expect(existsSync(filesOf(demo.text()))).toBe(false)
})

it("the demo ends everything by Ctrl+C", async () => {
  const demo = start(["--trees", "3"])
  await demo.said("Ctrl+C ends it")
  const port = Number(/127\.0\.0\.1:(\d+)\/#code/.exec(demo.text())?.[1])
  process.kill(-(demo.child.pid ?? 0), "SIGINT")
  expect(await demo.ended, demo.text()).toBe(0)
  expect(existsSync(filesOf(demo.text()))).toBe(false)
  await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow()
})

it("nothing waits for PostgreSQL once it has ended, which Ctrl+C does at a terminal", async () => {
  const script = `
    import { startPostgres } from ${JSON.stringify(pathToFileURL(join(root, "scripts", "crash", "postgres.mjs")).href)}
    const postgres = await startPostgres()
    await postgres.halt()
    await postgres.stop()
    process.once("beforeExit", () => console.log(process.getActiveResourcesInfo().join()))`
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  let text = ""
  child.stdout.setEncoding("utf8").on("data", (piece: string) => text += piece)
  await new Promise((resolve) => child.once("close", resolve))
  expect(text).not.toContain("Timeout")
  expect(text).toMatch(/\n$/)
})

it.each([
  ["a flag that it does not have", ["--foo"], {}, "Unknown option '--foo'"],
  ["a number that is none", ["--trees", "x"], {}, "--trees takes a number, not x"],
  ["files that cannot be made", [], { TMPDIR: "/no/such" }, "no such file or directory"]
])("the demo says in one line what is wrong with %s", async (_, args, env, words) => {
  const demo = start(args, env)
  expect(await demo.ended).toBe(1)
  const said = demo.text().split("\n").filter((line) => line !== "" && !line.startsWith("Starting "))
  expect(said).toEqual([expect.stringMatching(/^cluster:demo: /)])
  expect(said[0]).toContain(words)
})

it("the demo leaves no files if Ctrl+C comes while PostgreSQL starts", async () => {
  const directory = mkdtempSync(join(tmpdir(), "skein-demo-"))
  // Root runs PostgreSQL as another user.
  chmodSync(directory, 0o755)
  const demo = start([], { TMPDIR: directory })
  await until(() => readdirSync(directory).some((name) => name.includes("postgres")) || undefined)
  process.kill(-(demo.child.pid ?? 0), "SIGINT")
  expect(await demo.ended, demo.text()).toBe(0)
  expect(readdirSync(directory).filter((name) => name.startsWith("skein-"))).toEqual([])
  rmSync(directory, { recursive: true })
})
