import { expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { ModelError } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import { define } from "@skein/core/Tool"
import type { Event } from "@skein/domain/Event"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { formatCount } from "@skein/view/Numbers"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { describe } from "vitest"
import { treeLines } from "../../src/internal/tree/treeLines.ts"
import { LiveView } from "../../src/LiveView.ts"
import { coloured, colourless } from "../../src/Style.ts"
import { widthOf } from "../../src/Width.ts"

const slow = define({
  name: "read",
  describe: "Reads slowly",
  parameters: Schema.Struct({ path: Schema.String }),
  effect: "safe",
  title: ({ path }) => path,
  authorise: () => Effect.succeed([]),
  execute: ({ path }) => Effect.as(Effect.sleep(5_000), { title: path, output: path, metadata: {} })
})

/** Runs a prompt by a script, and looks at the view at some moments; times are seconds from the beginning. */
const watch = (
  scripts: Parameters<typeof Scripted.make>[0],
  moments: ReadonlyArray<number>,
  size = { columns: 70, rows: 24 },
  concurrency = 16
) =>
  Effect.gen(function*() {
    const bus = yield* Bus
    const session = yield* Session.create({ directory: "/work", title: "The job" })
    const view = new LiveView(session, yield* Clock.currentTimeMillis, {
      style: colourless,
      colors: new Map(),
      hasKeys: false
    })
    const events: Array<Event> = []
    yield* bus.listen({ all: true }, (event) => {
      events.push(event)
      view.see(event)
    })
    const running = yield* Effect.fork(Session.prompt(session.id, "go"))
    const frames: Array<ReturnType<LiveView["view"]>> = []
    for (const moment of moments) {
      yield* TestClock.setTime(moment * 1_000)
      frames.push(view.view(size, { now: yield* Clock.currentTimeMillis, steady: yield* Clock.currentTimeMillis }))
    }
    const isDone = (yield* Fiber.poll(running))._tag === "Some"
    yield* Fiber.interrupt(running)
    return { frames, view, events, isDone }
  }).pipe(
    Effect.scoped,
    Effect.provide(Skein.layer({
      provider: Scripted.layer(scripts),
      tools: Effect.succeed([slow]),
      config: { limits: { concurrency } }
    }))
  )

const reads = (
  path: string
): ReadonlyArray<Scripted.ScriptedStep | string> => [Scripted.call("read", { path }), `${path} was read`]

describe("the tree", () => {
  it.effect("shows who does what, and how far they are", () =>
    Effect.gen(function*() {
      const { frames } = yield* watch({
        build: [Scripted.tasks({ general: "one" }, { explore: "two" }), "Done."],
        general: reads("a.txt"),
        explore: [Scripted.text("x", { delay: { first: 20_000 } })]
      }, [1, 7, 30])
      expect(frames.map(({ below }) => below)).toEqual([
        [
          "● build  The job  waits for its subagents       30 · <$0.0001 · 1.0 s",
          "├─ ● general  general task  read a.txt                     15 · 1.0 s",
          "└─ ● explore  explore task  thinks                              1.0 s"
        ],
        [
          "● build  The job  waits for its subagents       45 · <$0.0001 · 7.0 s",
          "├─ ✓ general  general task                                 30 · 5.0 s",
          "└─ ● explore  explore task  thinks                              7.0 s"
        ],
        [
          "✓ build  The job                                  75 · $0.0001 · 20 s",
          "├─ ✓ general  general task                                 30 · 5.0 s",
          "└─ ✓ explore  explore task                                  15 · 20 s"
        ]
      ])
      expect(frames.map(({ above }) => above)).toEqual([
        ["build · scripted/model"],
        ["• task general task  completed, 5.0 s"],
        ["• task explore task  completed, 20 s", "", "Done."]
      ])
    }))

  it.effect("shows who waits in the queue, and who tries again", () =>
    Effect.gen(function*() {
      const { frames } = yield* watch(
        {
          build: [Scripted.tasks({ general: "one" }, { explore: "two" }), "Done."],
          general: reads("a.txt")
        },
        [1],
        undefined,
        1
      )
      expect(frames[0]?.below.at(-1)).toContain("○ explore  explore task  queued, place 1")
    }))

  it.effect("shows that a conversation is summarised, and what that made of it", () =>
    Effect.gen(function*() {
      const reading = (path: string) => ({ ...Scripted.call("read", { path }), text: `${path} ${"y".repeat(4_000)}` })
      const { frames } = yield* watch({
        build: [reading("a"), reading("b"), Scripted.fault("context_overflow"), "Done."],
        compaction: [{ text: "Short.", delay: { first: 5_000 } }]
      }, [1, 6, 12, 20])
      expect(frames[2]?.below.join()).toContain("● build  The job  summarises")
      expect(frames.map(({ below }) => below.join()).filter((text) => text.includes("summarises"))).toHaveLength(1)
      expect(frames[3]?.above.join()).toMatch(/> compacted: [\d.]+k tokens of conversation became [\d.]+k?,+Done\./)
    }))

  const many = Array.from({ length: 40 }, (_, i) => ({ [i % 2 === 0 ? "general" : "explore"]: String(i) }))

  it.effect("is never higher or wider than the terminal, and counts what does not fit", () =>
    Effect.gen(function*() {
      const { frames, view } = yield* watch(
        {
          build: [Scripted.tasks(...many), "Done."],
          general: ["at once"],
          explore: reads("世".repeat(90))
        },
        [1],
        { columns: 60, rows: 12 },
        100
      )
      const below = frames[0]?.below ?? []
      expect(below).toHaveLength(11)
      expect(below.at(-1)).toBe("… and 31 more: 11 at work, 20 done")
      for (const line of below) expect(widthOf(line)).toBeLessThan(60)
      for (const rows of [1, 2, 3, 20, 22, 23, 41, 42]) {
        const lines = treeLines(view.tree, { columns: 60, rows, now: 1_000 })
        expect(lines.length).toBeLessThanOrEqual(rows)
        expect(lines[0]?.text).toContain("build")
      }
      expect(treeLines(view.tree, { columns: 60, rows: 41, now: 1_000 })).toHaveLength(41)
    }))

  it.effect("shows outcomes that are none", () =>
    Effect.gen(function*() {
      const { frames } = yield* watch({ build: [Scripted.tasks({ general: "one" }), "Done."], general: ["  "] }, [
        1,
        200
      ])
      expect(frames[1]?.below[1]).toMatch(/✗ general  general.*empty: The subagent/)
    }))

  it.effect("shows titles and text of models escaped", () =>
    Effect.gen(function*() {
      const { frames } = yield* watch({
        build: [{
          text: "line\u001b[2J\ngrowing\u202e",
          calls: [{ tool: "read", input: { path: "\u001b]0;x\u0007" } }]
        }, "Done."]
      }, [1])
      expect(frames[0]?.above).toEqual(["build · scripted/model", "", "line\\x1b[2J", "growing\\u202e"])
      expect(frames[0]?.below[0]).toContain("read \\x1b]0;x\\x07")
    }))
})

it.effect("the words of an answer come as they grow, and each line is printed once", () =>
  Effect.gen(function*() {
    const { frames } = yield* watch({
      build: [Scripted.text("First line.\nSecond line.", { pieces: 4, delay: { between: 1_000 } })]
    }, [0.5, 1.5, 2.5, 10])
    expect(frames.map(({ above, below }) => [above, below.slice(0, -1)])).toEqual([
      [["build · scripted/model"], ["First "]],
      [["", "First line."], []],
      [[], ["Second"]],
      [["Second line."], []]
    ])
  }))

it.effect("an answer that breaks off begins again, and says so where a part of it was printed", () => {
  let tries = 0
  const broken = (text: string, between: number): Scripted.ScriptedStep => ({
    text,
    pieces: 2,
    delay: { between },
    fails: new ModelError({ reason: "network", retryable: true, message: "cut" })
  })
  return Effect.gen(function*() {
    const { frames } = yield* watch({
      build: () =>
        [
          broken("never shown whole", 0),
          broken("First line.\nSec", 3_000),
          Scripted.text("First line.\nSecond.")
        ][tries++] ?? ""
    }, [0.1, 6, 30])
    expect(frames.map(({ above }) => above)).toEqual([
      ["build · scripted/model"],
      ["", "First line."],
      ["[the answer broke off here, and begins again]", "First line.", "Second."]
    ])
    expect(frames[0]?.below.at(-1)).toMatch(/^○ build  The job  retry 1 in \d\.\d s: cut/)
  })
})

it.effect("a retry leaves the complete message before it as it is", () => {
  let tries = 0
  return Effect.gen(function*() {
    const { frames } = yield* watch({
      build: () =>
        [
          { text: "I look.", ...Scripted.call("read", { path: "a" }) },
          { fails: new ModelError({ reason: "network", retryable: true, message: "cut" }) },
          Scripted.text("Found.")
        ][tries++] ?? ""
    }, [6, 30])
    const above = frames.flatMap(({ above }) => above)
    expect(above).toContain("I look.")
    expect(above).toContain("Found.")
    expect(above.join("\n")).not.toContain("broke off")
  })
})

it.each([
  [0, "0"],
  [999, "999"],
  [1_000, "1.0k"],
  [9_949, "9.9k"],
  [9_950, "10k"],
  [123_456, "123k"],
  [999_499, "999k"],
  [999_500, "1.0M"],
  [12_345_678, "12.3M"]
])(
  "%i is written %s",
  (count, text) => {
    expect(formatCount(count)).toBe(text)
  }
)

it.effect("marks an agent at work with the colour that its definition has", () =>
  Effect.gen(function*() {
    const session = yield* Session.create({ directory: "/work", agent: "build", title: "The job" })
    const frame = (colors: ReadonlyMap<string, string>, style = coloured) =>
      new LiveView(session, 0, { style, colors, hasKeys: false }).view({ columns: 70, rows: 24 }, { now: 0, steady: 0 })
        .below.join("\n")
    expect(frame(new Map([["build", "magenta"]]))).toContain("\x1b[35m●\x1b[39m build")
    expect(frame(new Map([["build", "#ff8000"]]))).toContain("\x1b[38;2;255;128;0m●\x1b[39m build")
    expect(frame(new Map([["other", "magenta"]]))).toContain("\x1b[36m●\x1b[39m build")
    expect(frame(new Map([["build", "magenta"]]), colourless)).not.toContain("\x1b")
  }).pipe(Effect.provide(Skein.layer({ provider: Scripted.layer({}) }))))
