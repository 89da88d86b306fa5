/** The built program with a budget: what its agents use together, how it ends, and what it reports meanwhile. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 60_000 })

interface Result {
  readonly sessionID: string
  readonly outcome: string
  readonly exitCode: number
  readonly text: string
  readonly error?: { readonly tag: string; readonly message: string }
}

const partOf = ({ user }: LlmRequest): number | undefined => {
  const found = user.flatMap((text) => /part (\d+)$/.exec(text)?.slice(1) ?? []).at(0)
  return found === undefined ? undefined : Number(found)
}

/** Answers with this many tokens, whose input is counted as `input` says. */
const crowd = (
  count: number,
  { input, output }: {
    readonly input: (request: LlmRequest) => number
    readonly output: (part: number) => number
  }
) =>
(request: LlmRequest): LlmAnswer => {
  const part = partOf(request)
  if (part !== undefined) {
    const tokens = output(part)
    return { text: `[${part}] ` + "word ".repeat(tokens), tokens: { input: input(request), output: tokens } }
  }
  if (request.messages.at(-1)?.role === "tool") return { text: "all done", tokens: { input: input(request) } }
  return {
    calls: Array.from({ length: count }, (_, i) => ({
      tool: "task",
      args: { description: `Part ${i}`, prompt: `part ${i}`, subagent_type: "general" }
    })),
    tokens: { input: input(request), output: 400 }
  }
}

/** Runs it with this budget; returns its result, its events, and the usage in `sessions show`. */
const spending = async (script: (request: LlmRequest) => LlmAnswer, ...budget: ReadonlyArray<string>) => {
  const llm = await startLlm(script)
  const place = priced(llm.url)
  atEnd(llm.close)
  const ended = await place.run(["run", "-m", "openai/m", "--title", "t", "--format", "json", ...budget, "go"])
  const lines = ended.stdout.trimEnd().split("\n").map((line) => JSON.parse(line))
  const result: Result = lines.at(-1)
  const shown = (await place.run(["sessions", "show", result.sessionID])).stdout
  const [, used, limit] = /budget: ([\d.]+) of ([\d.]+)/.exec(shown) ?? []
  const ends = lines.flatMap(({ properties, type }) =>
    type === "subagent.completed" || type === "subagent.failed" ? [properties.outcome.status] : []
  )
  return {
    code: ended.code,
    ends,
    limit: Number(limit),
    lines,
    llm,
    place,
    result,
    used: Number(used),
    stderr: ended.stderr
  }
}

/** A place whose model has a price. */
const priced = (llm: string) => {
  const place = sandbox({ llm })
  atEnd(place.remove)
  const config = join(place.home, "config", "skein")
  mkdirSync(config, { recursive: true })
  const models = { m: { price: { input: "1", output: "4" } } }
  writeFileSync(join(config, "skein.json"), JSON.stringify({ provider: { openai: { models } } }))
  return place
}

const fixed = () => 100
const counted = ({ tokens }: LlmRequest) => Math.round(tokens * 1.1)

describe("16 tasks at once", () => {
  it.each([
    ["a model that counts few input tokens", 20_000, fixed],
    ["a model that counts all of its input", 80_000, counted]
  ])("with answers of 6,000 tokens use their budget and no more: %s", async (_, tokens, input) => {
    const { code, ends, limit, result, stderr, used } = await spending(
      crowd(16, { input, output: () => 6_000 }),
      "--budget-tokens",
      String(tokens)
    )
    expect(limit).toBe(tokens)
    expect(used).toBeLessThanOrEqual(tokens * 1.03)
    expect(used).toBeGreaterThanOrEqual(tokens * 0.9)
    expect(code).toBe(4)
    expect(result).toMatchObject({
      outcome: "budget_exhausted",
      exitCode: 4,
      error: { tag: "BudgetExhausted", which: "tokens" }
    })
    expect(stderr).toContain(
      `set a new budget (--budget-tokens): \`skein sessions resume ${result.sessionID} --budget-tokens N\`.`
    )
    expect(result.error?.message).toMatch(
      new RegExp(`The budget of ${tokens} tokens for .*: ${used} are used.*set a new budget \\(--budget-tokens\\)`)
    )
    expect(ends).toContain("completed")
    expect(ends).toContain("budget_exhausted")
  })

  it("with small answers use their budget and no more", async () => {
    const { code, ends, result, used } = await spending(
      crowd(16, { input: counted, output: () => 10 }),
      "--budget-tokens",
      "30000"
    )
    expect(code).toBe(4)
    expect(used).toBeLessThanOrEqual(30_000 * 1.03)
    expect(used).toBeGreaterThanOrEqual(20_000)
    expect(ends).toContain("completed")
    expect(result.error?.message).toMatch(
      new RegExp(
        `The budget of 30000 tokens .* does not suffice for another request: ${used} are used.*--budget-tokens`
      )
    )
  })

  it("complete if their budget suffices", async () => {
    const { code, ends, result } = await spending(
      crowd(16, { input: counted, output: () => 6_000 }),
      "--budget-tokens",
      "1000000"
    )
    expect(code).toBe(0)
    expect(result).toMatchObject({ outcome: "completed", text: "all done" })
    expect(ends).toEqual(Array.from({ length: 16 }, () => "completed"))
  })

  it("use their budget of money and no more", async () => {
    const { code, ends, result, used } = await spending(
      crowd(16, { input: counted, output: () => 6_000 }),
      "--budget-usd",
      "0.20"
    )
    expect(code).toBe(4)
    expect(used).toBeLessThanOrEqual(0.206)
    expect(used).toBeGreaterThanOrEqual(0.18)
    expect(ends).toContain("completed")
    expect(ends).toContain("budget_exhausted")
    expect(result.error?.message).toMatch(new RegExp(`The budget of 0.2 USD .*: ${used} are used.*--budget-usd`))
  })
})

describe("a task that waits for budget", () => {
  it("reports that while it runs, and other processes report what it may wait for", async () => {
    const script = crowd(2, { input: fixed, output: () => 10 })
    const llm = await startLlm((request) => {
      const answer = script(request)
      return partOf(request) === undefined ? answer : { ...answer, hangs: true }
    })
    const place = priced(llm.url)
    atEnd(llm.close)
    const args = ["run", "-m", "openai/m", "--title", "t", "--budget-tokens", "9000", "go"]
    const running = place.start(args)
    atEnd(() => running.child.kill("SIGKILL"))
    await until(() =>
      /> subagent:waits for budget: \d+ of 9000 tokens for the session ses_\w+ above and all below that are free .*\(Part \d\)/
        .test(running.output())
    )
    await llm.asked(2)
    expect(llm.requests).toHaveLength(2)
    const runs: ReadonlyArray<{ readonly taskID: string }> = JSON.parse(
      (await place.run(["tasks", "list", "--format", "json"])).stdout
    )
    expect(runs).toHaveLength(2)
    const shown = await Promise.all(runs.map(async ({ taskID }) => (await place.run(["tasks", "show", taskID])).stdout))
    // What a request holds is known only to its process.
    expect(
      shown.filter((text) =>
        /it waits for the model, or for budget that others have reserved: 500 of 9000 tokens are used by ses_\w+ and all below it\./
          .test(text)
      ).length
    ).toBeGreaterThanOrEqual(1)
  })
})

describe("the survey without a key", () => {
  it("stays within its budget, and says that it could not be finished", async () => {
    const names = Array.from({ length: 24 }, (_, i) => `src/part${i % 8}/file${i}.ts`)
    const files = Object.fromEntries(names.map((name, i) => [name, `export const value${i} = ${i}\n`.repeat(40)]))
    const place = sandbox({ files })
    atEnd(place.remove)
    const survey = async (...budget: ReadonlyArray<string>) => {
      const ended = await place.run(["run", "--title", "t", "--format", "json", ...budget, "Survey this project"])
      const { error, outcome, usage } = JSON.parse(ended.stdout.trimEnd().split("\n").at(-1) ?? "")
      return { code: ended.code, error, outcome, used: Number(usage.tokens.input) + Number(usage.tokens.output) }
    }
    const whole = await survey()
    expect(whole).toMatchObject({ code: 0, outcome: "completed" })
    const tokens = Math.floor(whole.used * 0.8)
    const part = await survey("--budget-tokens", String(tokens))
    expect(part).toMatchObject({ code: 4, outcome: "budget_exhausted", error: { tag: "BudgetExhausted" } })
    expect(part.error.message).toContain(`The budget of ${tokens} tokens`)
    expect(part.used).toBeLessThanOrEqual(tokens * 1.03)
    expect(part.used).toBeGreaterThan(0)
  })
})
