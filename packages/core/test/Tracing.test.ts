import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { call, tasks } from "@skein/testing/ScriptedProvider"
import { agent, layer, tool } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import { root } from "./support/tree.ts"

/** A span that a test can look at. */
interface Seen extends Tracer.Span {
  status: Tracer.SpanStatus
}

/** A tracer that keeps what it is given. */
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

/** The names of the spans above one of ours, nearest first. */
const above = (span: Tracer.AnySpan): ReadonlyArray<string> =>
  Option.match(span._tag === "Span" ? span.parent : Option.none(), {
    onNone: () => [],
    onSome: (parent) => parent._tag === "Span" ? [parent.name, ...above(parent)] : []
  })

it.effect("a tree of agents is a tree of spans, for a tracer that is there", () => {
  const { spans, tracer } = recorder()
  const script = {
    build: [tasks({ worker: "Look" }), "Done."],
    worker: [call("echo", {}), "Found."]
  }
  const echo = tool("echo", () => Effect.succeed("here"))
  return Effect.gen(function*() {
    const { id } = yield* root()
    yield* Effect.withTracer(Session.prompt(id, "Begin"), tracer)
    const of = (name: string) => spans.filter((span) => span.name === name)
    expect(["Session.prompt", "Step", "Tool.task", "Task.run", "Tool.echo"].map((name) => of(name).length))
      .toEqual([2, 4, 1, 1, 1])
    const [echoed] = of("Tool.echo")
    const names = ["Session.prompt", "Step", "Tool.task", "Task.run"]
    expect(above(echoed!).filter((name) => names.includes(name))).toEqual([
      "Session.prompt",
      "Task.run",
      "Tool.task",
      "Session.prompt"
    ])
    expect(Object.fromEntries(echoed!.attributes)).toMatchObject({ path: "build/worker", partID: expect.any(String) })
    expect(of("Step").map((span) => span.attributes.get("path"))).toEqual([
      "build",
      "build/worker",
      "build/worker",
      "build"
    ])
    expect(Object.fromEntries(of("Task.run")[0]!.attributes)).toMatchObject({ agent: "worker", parentID: id })
    for (const span of spans) expect(span.status._tag, span.name).toBe("Ended")
  }).pipe(Effect.provide(layer(script, { agents: [agent("worker")], tools: [echo] })))
})
