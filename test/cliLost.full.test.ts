/** The built program when it loses its session to another process, or its database. */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync
} from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { within } from "./support/database.ts"
import { type LlmAnswer, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

/** A run whose first answer waits until it is released; later ones come at once. */
const world = async (first: LlmAnswer | string, later = "theirs") => {
  let release = () => {}
  const gate = new Promise<void>((resolve) => release = resolve)
  let count = 0
  const llm = await startLlm(() => count++ === 0 ? gate.then(() => first) : later)
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  const start = (...flags: ReadonlyArray<string>) =>
    place.start(["run", "-m", "openai/m", "--title", "t", ...flags, "go"])
  return { llm, place, release, start }
}

const resultOf = (stdout: string) => JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as object

describe("a session that another process takes over while its prompt is answered", () => {
  it("ends the run with an error that says so, without the answer of the other", async () => {
    const { llm, place, release, start } = await world("mine")
    const running = start("--format", "json")
    await llm.asked(1)
    // While it is suspended, another process waits for its lease to expire, takes over its tree, and releases it.
    running.child.kill("SIGSTOP")
    const [row] = within(place.database, (db) => db.prepare("SELECT id FROM session").all())
    const other = await place.run(["sessions", "resume", String(row?.["id"])])
    expect(other).toMatchObject({ code: 0, stdout: "theirs\n" })
    release()
    running.child.kill("SIGCONT")
    const { code, stderr, stdout } = await running.ended
    expect(resultOf(stdout)).toMatchObject({ outcome: "failed", text: "", exitCode: 1, error: { tag: "held" } })
    expect(code).toBe(1)
    expect(stderr).toMatch(/no longer holds the session.*Another one took it over/)
    expect(stderr).not.toMatch(/stopped before/)
  })
})

describe("a database that disappears during a run", () => {
  const losses: ReadonlyArray<readonly [how: string, lose: (file: string) => void]> = [
    ["is removed", (file) => rmSync(file)],
    [
      "is removed with its log",
      (file) => ["", "-wal", "-shm"].forEach((end) => rmSync(`${file}${end}`, { force: true }))
    ],
    ["is replaced", (file) => {
      renameSync(file, `${file}.old`)
      writeFileSync(file, "")
    }],
    ["is emptied", (file) => truncateSync(file)],
    ["loses its end", (file) => truncateSync(file, Math.floor(statSync(file).size / 8192) * 4096)],
    ["loses its log", (file) => rmSync(`${file}-wal`)],
    ["loses the end of its log", (file) => truncateSync(`${file}-wal`, 4_096)],
    ["has its beginning overwritten", (file) => {
      const descriptor = openSync(file, "r+")
      writeSync(descriptor, "no database", 0)
      closeSync(descriptor)
    }],
    ["loses its directory", (file) => rmSync(dirname(file), { recursive: true })],
    ["is moved with its directory", (file) => {
      renameSync(dirname(file), `${dirname(file)}.old`)
      mkdirSync(dirname(file))
    }]
  ]

  it.each(losses)("and %s prints the answer, says that it is not stored, and exits with 1", async (_, lose) => {
    const { llm, place, release, start } = await world("the answer")
    const running = start()
    await llm.asked(1)
    lose(place.database)
    release()
    const { code, stderr, stdout } = await running.ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: "the answer\n" })
    expect(stderr).toMatch(/skein\.db was removed, replaced or cut off/)
    expect(stderr).not.toContain("sessions resume")
  })

  it("says so in the JSON result", async () => {
    const { llm, place, release, start } = await world("the answer")
    const running = start("--format", "json")
    await llm.asked(1)
    rmSync(place.database)
    release()
    const { code, stdout } = await running.ended
    expect(code).toBe(1)
    expect(resultOf(stdout)).toMatchObject({
      outcome: "failed",
      text: "the answer",
      exitCode: 1,
      error: { tag: "gone" }
    })
  })

  it("says so as well if calls were made meanwhile", async () => {
    const { llm, place, release, start } = await world({
      calls: [{ tool: "write", args: { filePath: "new.txt", content: "x" } }]
    }, "written")
    const running = start("--auto")
    await llm.asked(1)
    rmSync(place.database)
    release()
    expect(await running.ended).toMatchObject({
      code: 1,
      stdout: "written\n",
      stderr: expect.stringMatching(/removed, replaced or cut off/)
    })
  })

  it.each(
    [["while the model answers", "the answer"], ["before an answer that makes calls", {
      text: "the answer",
      calls: [{ tool: "write", args: { filePath: "new.txt", content: "x" } }]
    }]] as const
  )("ends the run when a renewal of its lease notices it %s, and keeps the text so far", async (_, first) => {
    const { llm, place, release, start } = await world(first)
    const running = start("--auto", "--verbose")
    await llm.asked(1)
    rmSync(place.database)
    await vi.waitUntil(() => running.output().includes("could not be renewed"), { timeout: 30_000 })
    release()
    const { code, stderr, stdout } = await running.ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: "the answer\n" })
    expect(stderr).toMatch(/^skein: \S+skein\.db was removed, replaced or cut off/m)
    expect(llm.requests).toHaveLength(1)
    expect(existsSync(join(place.project, "new.txt"))).toBe(false)
  })
})
