/** The built program while nobody reads its output: it pauses its work, within limits, and loses no result. */
import { readFileSync } from "node:fs"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 180_000 })

const world = async (script: (request: LlmRequest) => LlmAnswer | string) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  return { llm, place }
}

const run = ["run", "-m", "openai/m", "--title", "t"] as const

/** The peak memory of a process, in MB. */
const peak = (pid: number | undefined): number =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024

const children = 24
const page = "0123456789abcdef".repeat(65_536)

/** A root that starts many children in parallel, each of which answers with a page of 1 MB. */
const pages = ({ messages, user: [asked = ""] }: LlmRequest): LlmAnswer => {
  if (asked.startsWith("child")) return { text: `${asked}:${page}` }
  if (messages.at(-1)?.role === "tool") return { text: "all read" }
  const task = (at: number) => ({ description: `d${at}`, prompt: `child ${at}`, subagent_type: "general" })
  return { calls: Array.from({ length: children }, (_, at) => ({ tool: "task", args: task(at) })) }
}

interface Line {
  readonly type: string
  readonly leftOut?: number
  readonly properties: {
    readonly part: { readonly id: string; readonly type: string; readonly text: string }
    readonly partID: string
    readonly delta: string
  }
}

const linesOf = (stdout: string): ReadonlyArray<Line> =>
  stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Line)

describe("an output that nobody reads", () => {
  it("delays the work within limits, and prints every result once somebody reads (--format json)", async () => {
    const { llm, place } = await world(pages)
    const running = place.start([...run, "--format", "json", "go"], { unread: true })
    // The first children have finished: more than the buffer holds.
    await llm.asked(10)
    await until(() => llm.open() === 0)
    expect(peak(running.child.pid)).toBeLessThan(300)
    expect(llm.requests.length).toBeLessThan(children)
    running.read()
    const { code, stderr, stdout } = await running.ended
    expect(code, stderr).toBe(0)
    const lines = linesOf(stdout)
    expect(lines.at(-1)).toMatchObject({ type: "result", text: "all read", outcome: "completed" })
    expect(lines.filter(({ type }) => type === "subagent.completed")).toHaveLength(children)
    // A reader that joins the pieces has the whole text, whatever was left out in between.
    const texts = new Map<string, string>()
    for (const { properties, type } of lines) {
      if (type === "message.part.updated" && properties.part.type === "text") {
        texts.set(properties.part.id, properties.part.text)
      }
      if (type === "message.part.delta") {
        texts.set(properties.partID, (texts.get(properties.partID) ?? "") + properties.delta)
      }
    }
    const said = new Set(texts.values())
    for (let at = 0; at < children; at++) expect(said.has(`child ${at}:${page}`)).toBe(true)
    const { leftOut = 0 } = lines.at(-1) ?? {}
    expect(leftOut).toBeGreaterThan(0)
    expect(stderr).toContain(`${leftOut} events of progress`)
  })

  it("does not keep a signal from ending the run, which can be continued", async () => {
    const { llm, place } = await world(pages)
    const running = place.start([...run, "--format", "json", "go"], { unread: true })
    await llm.asked(10)
    await until(() => llm.open() === 0)
    const ended = new Promise((resolve) => running.child.once("exit", resolve))
    running.child.kill("SIGINT")
    expect(await ended).toBe(130)
    const again = await place.run(["sessions", "--format", "json"])
    expect(JSON.parse(again.stdout)).toMatchObject([{ turn: { ended: { how: "stopped" } } }])
  })

  it("ends the run when its reader disconnects while it waits", async () => {
    const { llm, place } = await world(pages)
    const running = place.start([...run, "--format", "json", "go"], { unread: true })
    await llm.asked(10)
    await until(() => llm.open() === 0)
    running.child.stdout?.destroy()
    running.child.stderr?.resume()
    expect(await running.ended).toMatchObject({ code: 141 })
    const again = await place.run(["sessions", "--format", "json"])
    expect(JSON.parse(again.stdout)).toMatchObject([{ turn: { ended: { how: "stopped" } } }])
  })
})
