/** The built program while the wall clock is set back, and while its process is suspended. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { within } from "./support/database.ts"
import { type Script, startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 60_000 })

const libraries = existsSync("/usr/lib")
  ? ["/usr/lib", ...readdirSync("/usr/lib").map((name) => `/usr/lib/${name}`)]
    .map((directory) => `${directory}/faketime/libfaketimeMT.so.1`)
  : []
const library = libraries.find((file) => existsSync(file))

/** A run whose wall clock can be set back by an hour. */
const world = async (script: Script, config: object = {}) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  const settings = join(place.home, "config", "skein")
  mkdirSync(settings, { recursive: true })
  writeFileSync(join(settings, "skein.json"), JSON.stringify(config))
  const offset = join(place.home, "offset")
  writeFileSync(offset, "+0\n")
  const clock = library === undefined ? {} : {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: offset,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    DONT_FAKE_MONOTONIC: "1"
  }
  const start = (env: Readonly<Record<string, string>> = {}) => {
    const running = place.start(["run", "-m", "openai/m", "--title", "t", "--format", "json", "go"], { env })
    atEnd(() => running.child.kill("SIGKILL"))
    return running
  }
  return {
    llm,
    start,
    startOnClock: () => start(clock),
    setBack: () => writeFileSync(offset, "-3600\n"),
    /** Whether the program saw that its clock was set back: its last stored time is before its start. */
    sawIt: () =>
      within(place.database, (db) => db.prepare("SELECT data FROM session WHERE parent_id IS NULL").all())
        .map(({ data }) => (JSON.parse(String(data)) as { readonly time: Record<"created" | "updated", number> }).time)
        .some(({ created, updated }) => updated < created - 3_000_000)
  }
}

const resultOf = (stdout: string) => JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as object

const task = (timeout: number) => ({
  calls: [{ tool: "task", args: { description: "Look", prompt: "child", subagent_type: "general", timeout } }]
})

describe.skipIf(library === undefined)(
  `a wall clock that is set back by an hour${library === undefined ? " (not run: libfaketime is not installed)" : ""}`,
  () => {
    it("keeps the deadline of a stalled stream", async () => {
      const { llm, sawIt, setBack, startOnClock } = await world(() => ({ text: "looking", hangs: true }), {
        deadlines: { idle: 3_000 },
        retry: { attempts: 1 }
      })
      const running = startOnClock()
      await llm.asked(1)
      setBack()
      const { stdout } = await running.ended
      expect(resultOf(stdout)).toMatchObject({
        outcome: "failed",
        error: { message: expect.stringContaining("deadlines.idle") }
      })
      expect(sawIt()).toBe(true)
    })

    it("keeps the length of the wait after a 429", async () => {
      let count = 0
      const { llm, sawIt, setBack, startOnClock } = await world(() => ++count === 1 ? { status: 429 } : "well")
      const running = startOnClock()
      await llm.asked(1)
      await until(() => running.output().includes("\"retry\""))
      setBack()
      expect(resultOf((await running.ended).stdout)).toMatchObject({ outcome: "completed", text: "well" })
      expect(sawIt()).toBe(true)
    })

    it("keeps the timeout of a task", async () => {
      const { llm, sawIt, setBack, startOnClock } = await world(({ last }) =>
        last === "go" ? task(4_000) : last === "child" ? { text: "looking", hangs: true } : "end"
      )
      const running = startOnClock()
      await llm.asked(2)
      setBack()
      expect(resultOf((await running.ended).stdout)).toMatchObject({ outcome: "completed", text: "end" })
      expect(llm.requests.at(-1)?.last).toMatch(/timed.out/i)
      expect(sawIt()).toBe(true)
    })
  }
)

describe("a process that is suspended for longer than the timeout of its task", () => {
  it("gives the task all of its time", async () => {
    let release = () => {}
    const gate = new Promise<void>((resolve) => release = resolve)
    const { llm, start } = await world(({ last }) =>
      last === "go" ? task(6_000) : last === "child" ? gate.then(() => "found") : "end"
    )
    const running = start()
    await llm.asked(2)
    running.child.kill("SIGSTOP")
    // The stop itself: longer than the timeout of the task, and than what counts as a busy machine.
    await sleep(8_000)
    running.child.kill("SIGCONT")
    release()
    expect(resultOf((await running.ended).stdout)).toMatchObject({ outcome: "completed", text: "end" })
    expect(llm.requests.at(-1)?.last).toContain("found")
    expect(llm.requests.at(-1)?.last).not.toMatch(/timed.out/i)
  })
})
