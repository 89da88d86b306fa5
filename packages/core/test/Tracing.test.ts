import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { ToolError } from "@skein/core/Tool"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { call, fault, tasks, text } from "@skein/testing/ScriptedProvider"
import { agent, layer, tool } from "@skein/testing/SkeinTest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Tracer from "effect/Tracer"
import { root } from "./support/tree.ts"

/** A span that a test can read. */
interface Seen extends Tracer.Span {
  status: Tracer.SpanStatus
}

/** A tracer that keeps its spans. */
const recorder = () => {
  const spans: Array<Seen> = []
  const tracer = Tracer.make({
    span: (name, parent, context, links, startTime, kind) => {
      const attributes = new Map<string, unknown>()
      const span: Seen = {
        _tag: "Span",
        name,
        parent,
        context,
        links: [...links],
        kind,
        attributes,
        spanId: String(spans.length),
        traceId: "test",
        sampled: true,
        status: { _tag: "Started", startTime },
        attribute: (key, value) => void attributes.set(key, value),
        event: () => undefined,
        addLinks: () => undefined,
        end: (endTime, exit) => {
          span.status = { _tag: "Ended", startTime, endTime, exit }
        }
      }
      spans.push(span)
      return span
    },
    context: (run) => run()
  })
  return { spans, tracer }
}

/** The names of our spans above a span, nearest first. */
const above = (span: Tracer.AnySpan): ReadonlyArray<string> =>
  Option.match(span._tag === "Span" ? span.parent : Option.none(), {
    onNone: () => [],
    onSome: (parent) =>
      parent._tag === "Span" ? [...(ours.test(parent.name) ? [parent.name] : []), ...above(parent)] : []
  })

const ours = /^(Session\.prompt|Step|Tool\..*|Task\.run|main)$/

const attributesOf = (span: Seen | undefined) => Object.fromEntries(span?.attributes ?? [])

/** The failure of an ended span. */
const failureOf = (span: Seen | undefined) =>
  span?.status._tag === "Ended" && Exit.isFailure(span.status.exit)
    ? Option.getOrUndefined(Cause.failureOption(span.status.exit.cause))
    : undefined

/** A prompt under a tracer, until the session is idle; the spans by name. */
const traced = Effect.fnUntraced(function*(words: string) {
  const { spans, tracer } = recorder()
  const { id } = yield* root()
  const session = yield* Session
  const turn = yield* session.prompt(id, words).pipe(
    Effect.zipLeft(session.untilIdle(id)),
    Effect.either,
    Effect.withTracer(tracer)
  )
  for (const span of spans) expect(span.status._tag, span.name).toBe("Ended")
  return { id, turn, spans, of: (name: string) => spans.filter((span) => span.name === name) }
})

const agents = [agent("worker"), agent("lead", { permission: { task: "allow" } })]
const echo = tool("echo", () => Effect.succeed("here"))
const used = { tokens: { input: 100, output: 20, reasoning: 5, cacheRead: 40, cacheWrite: 0 } }

it.effect("a tree of agents is a tree of spans, if there is a tracer", () => {
  const script = {
    build: [tasks({ lead: "Look" }), "Done."],
    lead: [tasks({ worker: "Look" }), "Found."],
    worker: [call("echo", {}), "Found."]
  }
  return Effect.gen(function*() {
    const { id, of } = yield* traced("Begin")
    expect(["Session.prompt", "Step", "Tool.task", "Task.run", "Tool.echo"].map((name) => of(name).length))
      .toEqual([3, 6, 2, 2, 1])
    const [echoed] = of("Tool.echo")
    const level = ["Session.prompt", "Task.run", "Tool.task"]
    expect(above(echoed!)).toEqual([...level, ...level, "Session.prompt"])
    expect(of("Step").map((span) => [span.attributes.get("skein.agent.path"), ...above(span)])).toEqual(
      ["build", "build/lead", "build/lead/worker", "build/lead/worker", "build/lead", "build"].map((path) => [
        path,
        ...[...path.split("/").slice(1).flatMap(() => level), "Session.prompt"]
      ])
    )
    const [lead, worker] = of("Task.run").map(attributesOf)
    expect(lead).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "lead",
      "gen_ai.conversation.id": expect.stringMatching(/^ses_/),
      "skein.root.id": id,
      "skein.caller.id": id,
      "skein.run.id": expect.stringMatching(/^run_/),
      "skein.outcome": "completed"
    })
    expect(worker).toMatchObject({ "skein.caller.id": lead!["gen_ai.conversation.id"], "skein.root.id": id })
    expect(attributesOf(echoed)).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "echo",
      "gen_ai.tool.call.id": expect.stringMatching(/^prt_/),
      "gen_ai.conversation.id": worker!["gen_ai.conversation.id"],
      "skein.agent.path": "build/lead/worker",
      "skein.task.id": worker!["gen_ai.conversation.id"],
      "skein.run.id": worker!["skein.run.id"],
      "skein.outcome": "completed"
    })
  }).pipe(Effect.provide(layer(script, { agents, tools: [echo] })))
})

it.effect("spans report the usage, if it is known", () => {
  const script = Scripted.make({
    build: [tasks({ worker: "Look" }), text("Done.", used)],
    worker: [text("Found.", used)]
  }, {
    price: { input: "10", output: "100" }
  })
  return Effect.gen(function*() {
    const { of } = yield* traced("Begin")
    const answered = of("Step").map(attributesOf).at(-1)
    expect(answered).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": script.model.info.providerID,
      "gen_ai.request.model": script.model.info.modelID,
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 100,
      "gen_ai.usage.output_tokens": 20,
      "gen_ai.usage.cache_read.input_tokens": 40,
      "gen_ai.usage.reasoning.output_tokens": 5,
      "skein.cost": 0.003,
      "skein.outcome": "completed"
    })
    expect(attributesOf(of("Task.run")[0])).toMatchObject({ "gen_ai.usage.input_tokens": 100, "skein.cost": 0.003 })
    const [first] = of("Session.prompt").filter((span) => above(span).length === 0).map(attributesOf)
    expect(first).toMatchObject({ "skein.outcome": "completed" })
    expect(Number(first?.["gen_ai.usage.input_tokens"])).toBeGreaterThanOrEqual(200)
  }).pipe(Effect.provide(layer(script, { agents })))
})

it.effect("a failure fails its span, by its kind and without its message", () => {
  const secret = "the content of a file"
  const broken = tool("broken", () => Effect.fail(new ToolError({ kind: "failed", message: secret })))
  const script = {
    build: [call("broken", {}), call("made up by the model", {}), tasks({ worker: "Look" }), "Done."],
    worker: [fault("auth", { message: secret })]
  }
  return Effect.gen(function*() {
    const { of, spans } = yield* traced("Begin")
    const kinds = ["Tool.broken", "Tool.unknown", "Tool.task", "Task.run"].map((name) => {
      const [span] = of(name)
      return [name, failureOf(span), attributesOf(span)["error.type"]]
    })
    expect(kinds).toEqual([
      ["Tool.broken", expect.objectContaining({ name: "failed", message: "failed" }), "failed"],
      ["Tool.unknown", expect.objectContaining({ name: "unknown_tool" }), "unknown_tool"],
      ["Tool.task", expect.objectContaining({ name: "task" }), "task"],
      ["Task.run", expect.objectContaining({ name: "failed" }), "failed"]
    ])
    const failed = of("Step").filter((span) => failureOf(span) !== undefined)
    expect(failed.map((span) => span.attributes.get("error.type"))).toEqual(["auth"])
    const errors = spans.filter(({ name }) => ours.test(name)).map((
      span
    ) => [span.name, attributesOf(span), String(failureOf(span))])
    expect(JSON.stringify(errors)).not.toContain(secret)
    expect(JSON.stringify(errors)).not.toContain("made up")
  }).pipe(Effect.provide(layer(script, { agents, tools: [broken] })))
})

it.effect("a background task is below its call, and the turn after its notification below the prompt", () => {
  const script = {
    build: [
      call("task", { description: "d", prompt: "p", subagent_type: "worker", background: true }),
      "Begun.",
      "Read."
    ],
    worker: [text("Found.", { delay: { first: 60_000 } })]
  }
  return Effect.gen(function*() {
    const fiber = yield* Effect.fork(traced("Begin"))
    yield* TestClock.adjust("1 minute")
    const { of } = yield* Fiber.join(fiber)
    const [run] = of("Task.run")
    expect(above(run!)).toEqual(["Tool.task", "Session.prompt"])
    expect(attributesOf(run)).toMatchObject({ "skein.background": true, "skein.outcome": "completed" })
    const length = (span: Seen) =>
      span.status._tag === "Ended" ? Number(span.status.endTime - span.status.startTime) / 1e9 : undefined
    expect(length(run!)).toBe(60)
    const steps = of("Step").map((span) => [span.attributes.get("skein.agent.path"), above(span)] as const)
    expect(steps.filter(([path]) => path === "build")).toEqual(
      Array.from({ length: 3 }, () => ["build", ["Session.prompt"]])
    )
    expect(steps.filter(([path]) => path !== "build")).toEqual([
      ["build/worker", ["Session.prompt", "Task.run", "Tool.task", "Session.prompt"]]
    ])
  }).pipe(Effect.provide(layer(script, { agents })))
})

it.effect("the tree is below the caller of the prompt, wherever the services were created", () => {
  const { spans, tracer } = recorder()
  const script = { build: [tasks({ worker: "Look" }), "Done."], worker: ["Found."] }
  return Effect.gen(function*() {
    const { id } = yield* root()
    yield* Effect.withSpan(Session.prompt(id, "Begin"), "request")
    const [run] = spans.filter(({ name }) => name === "Task.run")
    expect(above(run!)).toEqual(["Tool.task", "Session.prompt", "main"])
    const [step] = spans.filter(({ name }) => name === "Step")
    const { parent } = step!
    expect(Option.map(parent, (span) => span._tag === "Span" ? span.name : "")).toEqual(Option.some("Session.prompt"))
  }).pipe(Effect.provide(layer(script, { agents })), Effect.withSpan("main"), Effect.withTracer(tracer))
})

it.effect("a step that is interrupted has not failed", () => {
  const { spans, tracer } = recorder()
  return Effect.gen(function*() {
    const { id } = yield* root()
    const fiber = yield* Effect.fork(Effect.withTracer(Session.prompt(id, "Begin"), tracer))
    yield* TestClock.adjust("1 second")
    yield* Fiber.interrupt(fiber)
    const [step] = spans.filter(({ name }) => name === "Step")
    expect(attributesOf(step)).toMatchObject({ "skein.outcome": "interrupted" })
    expect(attributesOf(step)).not.toHaveProperty(["error.type"])
  }).pipe(Effect.provide(layer({ build: [text("Late.", { delay: { first: 60_000 } })] }, { agents })))
})
