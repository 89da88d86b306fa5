/** The built program: for every end of a run, exit code, standard error, result and stored rows agree. */
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { within } from "./support/database.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

type Script = (request: LlmRequest) => LlmAnswer | string

/** How a run ends. */
interface End {
  readonly script: Script
  readonly flags?: ReadonlyArray<string>
  readonly config?: object
  readonly code: number
  readonly outcome: string
  /** Undefined if the model did not end its answer. */
  readonly finish?: string
  readonly text?: string | RegExp
  readonly error?: string
  /** How the stored turn of the root ended. */
  readonly how: string
  /** The outcome of a subagent. */
  readonly task?: string
  readonly stderr: RegExp
  readonly signal?: NodeJS.Signals
}

const task = (prompt: string, more: object = {}): LlmAnswer => ({
  calls: [{ tool: "task", args: { description: "d", prompt, subagent_type: "general", ...more } }]
})

const write: LlmAnswer = { calls: [{ tool: "write", args: { filePath: "new.txt", content: "x" } }] }

/** A root that makes one call and then repeats its result, with a subagent that follows `child`. */
const delegates = (call: LlmAnswer, child: Script, done: LlmAnswer | string = "reported"): Script => (request) =>
  request.user[0] === "child" ? child(request) : request.messages.some(({ role }) => role === "tool") ? done : call

const afterCall = (call: LlmAnswer, done: LlmAnswer | string): Script => ({ messages }) =>
  messages.at(-1)?.role === "tool" ? done : call

const nothing = /^$/
const failed = { code: 1, outcome: "failed", how: "failed" } as const

const ends: ReadonlyArray<readonly [name: string, end: End]> = [
  ["an answer", {
    script: () => "done",
    code: 0,
    outcome: "completed",
    finish: "stop",
    text: "done",
    how: "completed",
    stderr: nothing
  }],
  ["an answer that is too long for the model", {
    script: () => ({ text: "half", finish: "length" }),
    code: 0,
    outcome: "completed",
    finish: "length",
    text: "half",
    how: "completed",
    stderr: /^skein: The answer was cut off: the model reached its output limit\.\n$/
  }],
  ["a key that is refused", { script: () => ({ status: 401 }), ...failed, error: "auth", stderr: /401/ }],
  ["a server that always fails", {
    script: () => ({ status: 500 }),
    ...failed,
    error: "server",
    stderr: /scripted 500/
  }],
  ["a stream that always breaks", {
    script: () => ({ text: "half an", breaks: true }),
    ...failed,
    error: "network",
    stderr: /^skein: .+\n$/
  }],
  ["a conversation that exceeds the context", {
    script: () => ({ status: 400, message: "This model's maximum context length is 10 tokens" }),
    ...failed,
    error: "ContextOverflow",
    stderr: /^skein: .+\n$/
  }],
  ["a content filter", {
    script: () => ({ finish: "content_filter" }),
    ...failed,
    finish: "content-filter",
    error: "invalid_request",
    stderr: /refused to answer: its content filter ended the answer/
  }],
  ["a content filter after some text", {
    script: () => ({ text: "I can", finish: "content_filter" }),
    code: 0,
    outcome: "completed",
    finish: "content-filter",
    text: "I can",
    how: "completed",
    stderr: /^skein: The answer was cut off: the provider's content filter ended it\.\n$/
  }],
  ["a refusal in text", {
    script: () => ({ deltas: [{ refusal: "I will not." }] }),
    code: 0,
    outcome: "completed",
    finish: "content-filter",
    text: "I will not.",
    how: "completed",
    stderr: /^skein: The answer was cut off: the provider's content filter ended it\.\n$/
  }],
  ["nothing said", { script: () => ({}), ...failed, finish: "stop", error: "empty_response", stderr: /without text/ }],
  ["a question that nobody can answer", {
    script: afterCall(write, "not written"),
    code: 3,
    outcome: "completed",
    finish: "stop",
    text: "not written",
    how: "completed",
    stderr: /1 request was not permitted: edit new\.txt \(build\)/
  }],
  ["what a rule denies", {
    script: afterCall(write, "not written"),
    config: { permission: { edit: { "new.txt": "deny" } } },
    code: 0,
    outcome: "completed",
    finish: "stop",
    text: "not written",
    how: "completed",
    stderr: nothing
  }],
  ["the limit of steps", {
    script: ({ tools }) => tools.length === 0 ? "concluded" : { calls: [{ tool: "list", args: {} }] },
    flags: ["--max-steps", "2"],
    code: 4,
    outcome: "budget_exhausted",
    finish: "stop",
    text: "concluded",
    error: "steps",
    how: "steps",
    stderr: /reached its limit of 2 steps/
  }],
  ["a budget that is too small for a request", {
    script: () => "never",
    flags: ["--budget-tokens", "300"],
    code: 4,
    outcome: "budget_exhausted",
    error: "BudgetExhausted",
    how: "failed",
    stderr: /--budget-tokens/
  }],
  ["the time", {
    script: () => ({ text: "So far", hangs: true }),
    flags: ["--timeout", "3s"],
    code: 4,
    outcome: "timed_out",
    text: "So far",
    error: "timeout",
    how: "stopped",
    stderr: /took longer than 3\.0 s/
  }],
  ...([["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const).map(([signal, code]) =>
    [signal, {
      script: () => ({ text: "So far", hangs: true }),
      signal,
      code,
      outcome: "stopped",
      text: "So far",
      error: "stopped",
      how: "stopped",
      stderr: new RegExp(`Stopped by ${signal === "SIGINT" ? "Ctrl-C" : signal}`)
    }] as const
  ),
  ["a subagent that fails, and a root that answers", {
    script: delegates(task("child"), () => ({ status: 401 })),
    code: 0,
    outcome: "completed",
    finish: "stop",
    text: "reported",
    how: "completed",
    task: "failed",
    stderr: nothing
  }],
  ["a background task that fails", {
    script: delegates(task("child", { background: true }), () => ({ status: 401 })),
    code: 0,
    outcome: "completed",
    finish: "stop",
    text: "reported",
    how: "completed",
    task: "failed",
    stderr: nothing
  }],
  ["--no-wait", {
    script: delegates(task("child", { background: true }), () => ({ text: "at it", hangs: true })),
    flags: ["--no-wait"],
    code: 0,
    outcome: "completed",
    finish: "stop",
    text: "reported",
    how: "completed",
    stderr: /The background task "d" \(ses_\w+, general\) is interrupted/
  }],
  ["a subagent whose answer never matches its schema", {
    script: delegates(
      { calls: [{ tool: "task", args: { description: "d", prompt: "child", subagent_type: "former" } }] },
      () => "words"
    ),
    config: {
      agent: {
        former: {
          description: "Answers in a form",
          mode: "subagent",
          output: { type: "object", properties: { n: { type: "number" } }, required: ["n"] }
        }
      }
    },
    code: 0,
    outcome: "completed",
    finish: "stop",
    text: "reported",
    how: "completed",
    task: "failed",
    stderr: nothing
  }]
]

/** The stored rows of a session. */
interface Rows {
  readonly session: { readonly turn: { readonly ended: { readonly how: string } } }
  readonly children: ReadonlyArray<{ readonly id: string }>
  readonly tasks: ReadonlyArray<{ readonly taskID: string; readonly outcome?: { readonly status: string } }>
  readonly messages: ReadonlyArray<{
    readonly info: { readonly role: string; readonly finish?: string; readonly time: { readonly completed?: number } }
    readonly parts: ReadonlyArray<{ readonly type: string; readonly state?: { readonly status: string } }>
  }>
}

/** A line of `--format json`. */
interface Line {
  readonly type: string
  readonly properties: { readonly outcome: { readonly status: string } }
}

/** The rows of a session, read from the database itself. */
const rowsOf = (database: string, id: string): Rows =>
  within(database, (db) => {
    const read = (sql: string) => db.prepare(sql).all().map(({ data }) => JSON.parse(String(data)))
    const parts = db.prepare(`SELECT message_id, data FROM part WHERE session_id = '${id}' ORDER BY id`).all()
    return {
      session: read(`SELECT data FROM session WHERE id = '${id}'`)[0],
      children: read(`SELECT data FROM session WHERE parent_id = '${id}' ORDER BY id`),
      tasks: read(`SELECT data FROM run WHERE parent_id = '${id}' ORDER BY id`),
      messages: read(`SELECT data FROM message WHERE session_id = '${id}' ORDER BY id`).map((info) => ({
        info,
        parts: parts.flatMap(({ data, message_id: message }) => message === info.id ? [JSON.parse(String(data))] : [])
      }))
    }
  })

/** What a run has left, each part separately. */
const left = async ({ config = {}, flags = [], script, signal }: End) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url })
  place.configure({ retry: { base: 1, max_delay: 1 }, ...config })
  atEnd(llm.close, place.remove)
  const running = place.start(["run", "-m", "openai/m", "--title", "t", "--format", "json", ...flags, "go"])
  if (signal !== undefined) {
    await vi.waitUntil(() => running.output().includes("So far"), { timeout: 20_000 })
    running.child.kill(signal)
  }
  const { code, stderr, stdout } = await running.ended
  const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Line)
  const result = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")
  return { code, stderr, lines, result, ...rowsOf(place.database, result.sessionID) }
}

describe("exit code, standard error, result and rows agree after", () => {
  it.each(ends)("%s", async (_, end) => {
    const { children, code, lines, messages, result, session, stderr, tasks } = await left(end)
    expect({ code, stderr }).toEqual({ code: end.code, stderr: expect.stringMatching(end.stderr) })
    expect(result).toMatchObject({ type: "result", exitCode: end.code, outcome: end.outcome })
    expect(result.finish).toBe(end.finish)
    if (end.text !== undefined) expect(result.text).toMatch(end.text)
    expect(result.error?.tag).toBe(end.error)
    expect(session.turn.ended.how).toBe(end.how)
    const last = messages.findLast(({ info }) => info.role === "assistant")
    expect(last?.info.finish).toBe(end.finish)
    if (last !== undefined) expect(last.info.time.completed).toBeGreaterThan(0)
    for (const { parts } of messages) {
      for (const { state, type } of parts) if (type === "tool") expect(state?.status).toMatch(/^(completed|error)$/)
    }
    const outcomes = lines.filter(({ type }) => type === "subagent.failed").map((line) =>
      line.properties.outcome.status
    )
    expect(outcomes).toEqual(end.task === undefined ? [] : [end.task])
    if (end.task !== undefined) {
      expect(tasks).toMatchObject([{ taskID: children[0]?.id, outcome: { status: end.task } }])
    }
  })
})
