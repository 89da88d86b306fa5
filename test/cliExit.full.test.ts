/** The built program, how it ends: exit codes, signals, limits, and denials. */
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 60_000 })

const world = async (script: (request: LlmRequest) => LlmAnswer | string) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  return { llm, place }
}

const run = ["run", "-m", "openai/m"] as const

/** Whether a process with this in its command line is alive, in any namespace. */
const isAlive = (words: string): boolean =>
  readdirSync("/proc").some((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(words)
    } catch {
      return false
    }
  })

describe("signals", () => {
  it.each([["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const)(
    "%s stops the request, says how to continue, and exits with %i",
    async (signal, code) => {
      const { llm, place } = await world(() => ({ text: "I begin", hangs: true }))
      const running = place.start([...run, "--title", "t", "go"])
      await llm.asked(1)
      running.child.kill(signal)
      await llm.wasCut
      const ended = await running.ended
      expect(ended).toMatchObject({ code, stdout: "" })
      expect(ended.stderr).toMatch(
        /^skein: Stopped by (?:Ctrl-C|SIG\w+)\. Continue with `skein sessions resume (ses_\w+)`\. It asks the agent to continue; stopped tasks stay stopped\.\n$/
      )
      expect(llm.open()).toBe(0)
    }
  )

  it("a stopped session can be continued, and knows its history", async () => {
    const { llm, place } = await world(({ user }) => user.length === 1 ? { text: "I begin", hangs: true } : "done")
    const running = place.start([...run, "--format", "json", "--title", "t", "go"])
    await until(() => running.output().includes("I begin"))
    running.child.kill("SIGINT")
    const result = JSON.parse((await running.ended).stdout.trimEnd().split("\n").at(-1) ?? "")
    expect(result).toMatchObject({ type: "result", text: "I begin", outcome: "stopped", exitCode: 130 })
    const again = await place.run(["sessions", "resume", result.sessionID, "--format", "quiet"])
    expect(again).toMatchObject({ code: 0, stdout: "done\n" })
    expect(llm.requests.at(-1)?.user).toEqual(["go", "Continue where you left off."])
  })

  it("SIGINT ends the commands of agents, and everything that they started", async () => {
    const seconds = `300.${process.pid}1`
    const { place } = await world(({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? "done"
        : { calls: [{ tool: "bash", args: { command: `sleep ${seconds} & wait` } }] }
    )
    const running = place.start([...run, "--auto", "go"])
    await until(() => isAlive(seconds) || undefined)
    running.child.kill("SIGINT")
    expect((await running.ended).code).toBe(130)
    expect(isAlive(seconds)).toBe(false)
  })

  it("a second SIGINT ends everything immediately", async () => {
    const seconds = `300.${process.pid}2`
    const { place } = await world(() => ({
      calls: [{ tool: "bash", args: { command: `trap '' TERM INT HUP; while :; do sleep ${seconds}; done` } }]
    }))
    const running = place.start([...run, "--auto", "go"])
    await until(() => isAlive(seconds) || undefined)
    running.child.kill("SIGINT")
    running.child.kill("SIGINT")
    expect((await running.ended).code).toBe(130)
    await until(() => !isAlive(seconds))
  })

  it("ends quietly when its output is closed", async () => {
    const { llm, place } = await world(() => ({ text: "I begin", hangs: true }))
    const running = place.start([...run, "--format", "json", "--title", "t", "go"])
    running.child.stdout?.destroy()
    const ended = await running.ended
    expect(ended).toMatchObject({ code: 141, stderr: "" })
    expect(llm.open()).toBe(0)
  })
})

it.skipIf(!existsSync("/dev/full")).each(["default", "json", "quiet"])(
  "an answer that cannot be written is no success (--format %s; needs /dev/full)",
  async (format) => {
    const { place } = await world(() => "the answer")
    const full = openSync("/dev/full", "w")
    atEnd(() => closeSync(full))
    const ended = await place.run([...run, "--title", "t", "--format", format, "go"], { output: full })
    expect(ended.code).toBe(1)
    expect(ended.stderr).toMatch(/^skein: Standard output cannot be written \(ENOSPC\)\.[^\n]*\n$/)
  }
)

describe("limits", () => {
  it("--timeout stops the run, prints the partial answer, and exits with 4", async () => {
    const { llm, place } = await world(() => ({ text: "So far", hangs: true }))
    const ended = await place.run([...run, "--timeout", "2s", "--format", "quiet", "--title", "t", "go"])
    expect(ended).toMatchObject({ code: 4, stdout: "So far\n" })
    expect(ended.stderr).toMatch(
      /^skein: The run took longer than 2\.0 s \(--timeout\), and was stopped\. Continue with `skein sessions resume ses_\w+`\.\n$/
    )
    expect(llm.cut()).toBe(1)
  })

  it("--max-steps makes the agent conclude, and exits with 4", async () => {
    const { llm, place } = await world(({ tools }) =>
      tools.length === 0 ? "concluded" : { calls: [{ tool: "list", args: {} }] }
    )
    const ended = await place.run([...run, "--max-steps=2", "--format", "json", "--title", "t", "go"])
    expect(ended.code).toBe(4)
    expect(JSON.parse(ended.stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
      outcome: "budget_exhausted",
      exitCode: 4,
      text: "concluded",
      error: { tag: "steps" }
    })
    expect(llm.requests).toHaveLength(2)
  })

  it("--budget-tokens ends the whole tree before it is exceeded, prints the partial answer, and exits with 4", async () => {
    const tokens = { input: 5_000 }
    const { llm, place } = await world(({ messages, user: [asked = ""] }) => {
      if (!asked.startsWith("child")) {
        const args = { description: "d", prompt: "child", subagent_type: "general" }
        return { calls: [{ tool: "task", args }], tokens }
      }
      return {
        tokens,
        text: `page ${messages.length}`,
        calls: [{ tool: "list", args: { path: ".", ignore: [`${messages.length}`] } }]
      }
    })
    const args = [...run, "--budget-tokens", "22500", "--title", "t", "--format", "json", "go"]
    const ended = await place.run(args)
    expect(ended.code).toBe(4)
    const lines = ended.stdout.trimEnd().split("\n").map((line) => JSON.parse(line))
    const result = lines.at(-1)
    // Each request uses 5,010: the rest after four is not enough for a fifth.
    expect(llm.requests).toHaveLength(4)
    expect(result).toMatchObject({
      outcome: "budget_exhausted",
      exitCode: 4,
      usage: { steps: 4 },
      error: { tag: "BudgetExhausted", message: expect.stringContaining("--budget-tokens") }
    })
    const failed = lines.find(({ type }) => type === "subagent.failed")
    expect(failed.properties.outcome).toMatchObject({ status: "budget_exhausted", which: "tokens", text: /^page/ })
    const again = await place.run(["sessions", "resume", result.sessionID, "--format", "quiet"])
    expect(again).toMatchObject({ code: 4, stdout: "" })
    const shown = await place.run(["sessions", "show", result.sessionID])
    expect(shown.stdout).toContain("budget: 20040 of 22500 tokens used")
    expect(llm.requests).toHaveLength(4)
  })

  it("--budget-usd is refused with a model of unknown price, and exits with 2", async () => {
    const { llm, place } = await world(() => "never")
    const ended = await place.run([...run, "--budget-usd", "0.50", "--title", "t", "go"])
    expect(ended).toMatchObject({ code: 2, stdout: "" })
    expect(ended.stderr).toContain("the price of openai/m is unknown")
    expect(llm.requests).toHaveLength(0)
  })

  it("--concurrency and --max-tasks apply to the tree", async () => {
    let most = 0
    const { llm, place } = await world((request) => {
      const [asked = ""] = request.user
      if (asked.startsWith("child")) {
        most = Math.max(most, llm.open())
        return "done"
      }
      const results = request.messages.filter(({ role }) => role === "tool")
      if (results.length > 0) {
        return results.map(({ content }) => /limits\.max_tasks/.test(String(content)) ? "refused" : "ran").join(" ")
      }
      return {
        calls: Array.from({ length: 4 }, (_, i) => ({
          tool: "task",
          args: { description: `Task ${i}`, prompt: `child ${i}`, subagent_type: "explore" }
        }))
      }
    })
    const ended = await place.run([
      ...run,
      "--concurrency",
      "1",
      "--max-tasks",
      "3",
      "--format",
      "quiet",
      "--title",
      "t",
      "go"
    ])
    expect(ended.stdout).toBe("ran ran ran refused\n")
    expect(most).toBe(1)
  })
})

describe("permission", () => {
  const writes = ({ messages }: LlmRequest): LlmAnswer | string =>
    messages.at(-1)?.role === "tool"
      ? `model got: ${String(messages.at(-1)?.content)}`
      : { calls: [{ tool: "write", args: { filePath: "new.txt", content: "x" } }] }

  it("a call that needs a person is denied if there is none; the run continues and exits with 3", async () => {
    const { place } = await world(writes)
    const ended = await place.run([...run, "--format", "quiet", "go"])
    expect(ended.code).toBe(3)
    expect(ended.stdout).toMatch(/^model got: .*Skein cannot ask anyone/)
    expect(ended.stderr).toMatch(/^skein: 1 request was not permitted: edit new\.txt \(build\)\. .*--auto.*\n$/)
    expect(existsSync(join(place.project, "new.txt"))).toBe(false)
  })

  it("--auto allows it", async () => {
    const { place } = await world(writes)
    expect((await place.run([...run, "--auto", "--format", "quiet", "go"])).code).toBe(0)
    expect(readFileSync(join(place.project, "new.txt"), "utf8")).toBe("x")
  })

  it("--auto does not allow protected things", async () => {
    const { place } = await world(({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? "done"
        : { calls: [{ tool: "write", args: { filePath: "skein.json", content: "{}" } }] }
    )
    const ended = await place.run([...run, "--auto", "--format", "quiet", "go"])
    expect(ended.code).toBe(3)
    expect(ended.stderr).toContain("--auto does not allow that")
    expect(ended.stderr).not.toContain("pass --auto")
    expect(existsSync(join(place.project, "skein.json"))).toBe(false)
  })
})

it("a model that fails exits with 1, and says why in one line", async () => {
  const { place } = await world(() => ({ status: 401 }))
  const ended = await place.run([...run, "--title", "t", "go"])
  expect(ended).toMatchObject({ code: 1, stdout: "" })
  expect(ended.stderr).toMatch(/^skein: .*401.*\n$/)
  expect(ended.stderr).not.toContain("sk-test-0123456789")
})
