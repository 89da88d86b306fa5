/** The built program and a telemetry collector: what is sent, what never is, and that no collector blocks a run. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { type Behaviour, startCollector, type WireSpan } from "./support/collector.ts"
import { type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const secrets = {
  prompt: "whisper-of-the-prompt",
  file: "whisper-of-the-file",
  answer: "whisper-of-the-answer",
  description: "whisper-of-the-task"
}

/** A root that has a subagent read a file, and another one in the background. */
const tree = (request: LlmRequest): LlmAnswer | string => {
  const last = request.messages.at(-1)
  if (request.user.some((text) => text.includes("child"))) {
    return last?.role === "tool" ? secrets.answer : { calls: [{ tool: "read", args: { filePath: "notes.txt" } }] }
  }
  const task = (background: boolean) => ({
    tool: "task",
    args: { description: secrets.description, prompt: `child ${background}`, subagent_type: "explore", background }
  })
  return last?.role === "tool" || request.last.includes("task") ? secrets.answer : { calls: [task(false), task(true)] }
}

const made = async (behaviour?: Behaviour) => {
  const llm = await startLlm(tree)
  const collector = await startCollector(behaviour)
  const place = sandbox({ llm: llm.url, files: { "notes.txt": `${secrets.file}\n` } })
  atEnd(llm.close, collector.close, place.remove)
  return { llm, collector, place }
}

const run = (...more: ReadonlyArray<string>) => [
  ...["run", "-m", "openai/m", "--title", "t", "--format", "quiet"],
  ...more,
  `Go, ${secrets.prompt}`
]

/** The names above a span, nearest first. */
const above = (spans: ReadonlyArray<WireSpan>, span: WireSpan): ReadonlyArray<string> => {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId)
  return parent === undefined ? [] : [parent.name, ...above(spans, parent)]
}

describe("telemetry", () => {
  it("sends a tree of agents: spans in order with their usage, metrics, and log lines", async () => {
    const { collector, place } = await made()
    const ended = await place.run(run(), {
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: "x-team=a%20b",
        OTEL_SERVICE_NAME: "my-agents",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test"
      }
    })
    expect(ended).toMatchObject({ code: 0, stderr: "" })
    expect(collector.resource()).toMatchObject({ "service.name": "my-agents", "deployment.environment": "test" })
    expect(new Set(collector.sent.map(({ headers }) => headers["x-team"]))).toEqual(new Set(["a b"]))

    const spans = collector.spans()
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
    const reads = spans.filter(({ name }) => name === "Tool.read")
    expect(reads.map((span) => above(spans, span))).toEqual(
      Array.from({ length: 2 }, () => ["Session.prompt", "Task.run", "Tool.task", "Session.prompt"])
    )
    const runs = spans.filter(({ name }) => name === "Task.run").map(({ attributes }) => attributes)
    expect(runs.map((each) => each["skein.background"]).toSorted()).toEqual([false, true])
    for (const each of runs) {
      expect(each).toMatchObject({
        "gen_ai.agent.name": "explore",
        "gen_ai.usage.input_tokens": 200,
        "gen_ai.usage.output_tokens": 20,
        "skein.agent.path": "build/explore",
        "skein.outcome": "completed"
      })
    }
    const steps = spans.filter(({ name }) => name === "Step")
    expect(steps.every(({ attributes }) => attributes["gen_ai.request.model"] === "m")).toBe(true)
    for (const span of spans) {
      expect(span.status.code, span.name).toBe(1)
      expect(span.attributes, span.name).toMatchObject({
        "gen_ai.conversation.id": expect.stringMatching(/^ses_/),
        "skein.root.id": expect.stringMatching(/^ses_/)
      })
    }

    const points = collector.points()
    const total = (name: string, of: Readonly<Record<string, unknown>>) =>
      points.filter((point) =>
        point.name === name && Object.entries(of).every(([key, value]) => point.attributes[key] === value)
      ).reduce((sum, { asDouble, count }) => sum + (count ?? asDouble ?? 0), 0)
    expect(total("gen_ai.client.operation.duration", { "skein.outcome": "completed", "skein.purpose": "turn" }))
      .toBe(steps.length)
    expect(total("skein.tool.duration", { "gen_ai.tool.name": "read" })).toBe(2)
    expect(total("skein.task.duration", { "gen_ai.agent.name": "explore", "skein.outcome": "completed" })).toBe(2)
    expect(total("skein.agents", {})).toBe(0)
    expect(points.find(({ name }) => name === "skein.tool.duration")?.unit).toBe("s")
    expect(points.every(({ attributes, name }) => /^(gen_ai|skein)\./.test(name) && !("unit" in attributes))).toBe(true)
  })

  it("is configured by the user, and never by a project", async () => {
    const { collector, place } = await made()
    writeFileSync(join(place.project, "skein.json"), JSON.stringify({ telemetry: { endpoint: collector.url } }))
    const ignored = await place.run(run("--format", "default"))
    expect(ignored.stderr).toContain("1 value waits for trust")
    expect(collector.sent).toEqual([])
    expect((await place.run(["config", "--notes"])).stdout).toMatch(
      /telemetry.endpoint is ignored: a project's file sets it only with your trust/
    )
    mkdirSync(join(place.home, "config", "skein"), { recursive: true })
    writeFileSync(
      join(place.home, "config", "skein", "skein.json"),
      JSON.stringify({ telemetry: { endpoint: `${collector.url}/`, headers: { "x-key": "whisper-of-the-key" } } })
    )
    await place.run(run(), { env: { OTEL_METRICS_EXPORTER: "none" } })
    expect(new Set(collector.sent.map(({ headers, path }) => [path, headers["x-key"]].join(" ")))).toEqual(
      new Set(["/v1/traces whisper-of-the-key"])
    )
    const before = collector.sent.length
    await place.run(run(), { env: { OTEL_SDK_DISABLED: "true" } })
    expect(collector.sent.length).toBe(before)
    expect((await place.run(["config"])).stdout).not.toContain("whisper-of-the-key")
  })

  it("contains no prompt, argument, output or key, and log lines contain no secrets", async () => {
    const llm = await startLlm((request) => {
      if (request.messages.at(-1)?.role === "tool") return { status: 400 }
      return { calls: [{ tool: "read", args: { filePath: `${secrets.prompt}.txt` } }] }
    })
    const { collector, place } = await made()
    atEnd(llm.close)
    const key = "sk-test-whisper-of-the-key"
    const ended = await place.run(run("--verbose"), {
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20whisper-of-the-header",
        OPENAI_BASE_URL: llm.url,
        OPENAI_API_KEY: key
      }
    })
    expect(ended.code).toBe(1)
    const failed = collector.spans().filter(({ status }) => status.code === 2)
    expect(failed.map(({ attributes, name }) => [name, attributes["error.type"]])).toEqual([
      ["Tool.read", expect.any(String)],
      ["Step", "invalid_request"],
      ["Session.prompt", "invalid_request"]
    ])
    const all = collector.sent.filter(({ path }) => path !== "/v1/logs").map(({ text }) => text).join("\n")
    for (const word of [...Object.values(secrets), "whisper", "scripted", "notes.txt"]) expect(all).not.toContain(word)
    for (const { text } of collector.sent) expect(text).not.toMatch(/whisper-of-the-(?:key|header)/)
    expect(ended.stderr).not.toContain("whisper-of-the-key")
  })

  it("is off for an unsupported protocol, and refuses an invalid address", async () => {
    const { collector, place } = await made()
    const other = await place.run(run("--format", "default"), {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }
    })
    expect(other).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("Telemetry is off: OTEL_EXPORTER_OTLP_PROTOCOL is grpc")
    })
    expect(collector.sent).toEqual([])
    const wrong = await place.run(run(), { env: { OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4318" } })
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /OTEL_EXPORTER_OTLP_ENDPOINT: "localhost:4318" is not a place .* http:\/\/localhost:4318/
      )
    })
  })
})

describe("a collector", () => {
  /** Runs without and with it; returns the extra time, in milliseconds, and what was printed. */
  const beside = async (url: (collector: string) => string, behaviour?: Behaviour) => {
    const { collector, place } = await made(behaviour)
    const timed = async (env: Readonly<Record<string, string>>) => {
      const before = performance.now()
      const ended = await place.run(run("--verbose"), { env })
      return { ...ended, took: performance.now() - before }
    }
    const plain = await timed({})
    const watched = await timed({ OTEL_EXPORTER_OTLP_ENDPOINT: url(collector.url) })
    expect(watched).toMatchObject({ code: 0, stdout: plain.stdout })
    const lines = watched.stderr.split("\n").filter((line) => /Telemetry|Otlp/i.test(line))
    return { longer: watched.took - plain.took, lines }
  }

  it("that is missing is reported once, and not waited for", async () => {
    const { longer, lines } = await beside(() => "http://127.0.0.1:9")
    expect(lines).toEqual([expect.stringContaining("Telemetry cannot be sent to http://127.0.0.1:9")])
    expect(longer).toBeLessThan(1_500)
  })

  it("that answers with errors is reported once", async () => {
    const { lines } = await beside((url) => url, (response) => response.writeHead(500).end("no"))
    expect(lines).toEqual([expect.stringContaining("it answered 500")])
  })

  it("that never answers delays the end of the program by a second at most", async () => {
    const { longer } = await beside((url) => url, () => undefined)
    expect(longer).toBeLessThan(2_500)
  })
})

describe("the log", () => {
  const key = "whisper-of-the-key"

  /** A run whose request for a title fails, which is logged. */
  const logged = async (...more: ReadonlyArray<string>) => {
    const { collector, place } = await made()
    const config = join(place.home, "config", "skein")
    mkdirSync(config, { recursive: true })
    const provider = { mine: { type: "openai-compatible", base_url: "http://127.0.0.1:9/v1", key_env: "MY_OWN" } }
    writeFileSync(join(config, "skein.json"), JSON.stringify({ small_model: `${key}/none`, provider }))
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, MY_OWN: key }
    const ended = await place.run(["run", "-m", "openai/m", "--format", "quiet", "--verbose", ...more, "Go"], { env })
    return { ...ended, collector }
  }

  it("is lines of JSON on request, each with its context and without secrets", async () => {
    const { collector, stderr } = await logged("--log-format", "json")
    const all = stderr.trimEnd().split("\n").map((line) => JSON.parse(line))
    // The others report tasks.
    const lines = all.filter(({ level }) => level !== "info")
    expect(all.filter(({ level }) => level === "info").map(({ message }) => message)).toContain("A task has ended")
    expect(lines).toEqual([{
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      level: "debug",
      message: expect.stringMatching(/^No title: .*\[redacted\]/),
      session: expect.stringMatching(/^ses_/)
    }])
    expect(collector.logs().filter(({ severityText }) => severityText !== "INFO")).toMatchObject([
      { severityText: "DEBUG", attributes: { session: lines[0]?.session } }
    ])
    expect(collector.sent.map(({ text }) => text).join("\n") + stderr).not.toContain(key)
  })

  it("is lines for people otherwise, without secrets too", async () => {
    const { stderr } = await logged()
    expect(stderr).toMatch(/^timestamp=\S+ level=DEBUG .*No title.*\[redacted\].*$/m)
    expect(stderr).not.toContain(key)
  })
})
