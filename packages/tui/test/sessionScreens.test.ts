/** The session as a person sees it, in each of its states and at three sizes: what a terminal shows after all was written. */
import { none } from "@skein/domain/Usage"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { PassThrough } from "node:stream"
import type { ReadStream } from "node:tty"
import { describe, expect, it } from "vitest"
import { confirm } from "../src/Confirm.ts"
import { Pager } from "../src/internal/list/Pager.ts"
import { colourless } from "../src/Style.ts"
import { Seat } from "./support/seat.ts"
import { TestTerminal } from "./support/terminal.ts"

const answer = [
  "## What I found",
  "",
  "The session is stored in **one** place, see [the docs](https://example.org/docs) and `Session.ts`:",
  "",
  "- `prompt` stores the inbox row before it returns, so that a crash loses nothing of what was acknowledged",
  "  - and wakes the loop",
  "1. first",
  "2. second",
  "",
  "```ts",
  "const session = yield* Session // a comment",
  "```",
  "",
  "| name | what it does |",
  "| --- | --- |",
  "| 会话 | a session |",
  "| task | delegates |",
  ""
].join("\n")

const diff = ["@@ -7,3 +7,3 @@", " same", "-const before = 1", "+const after = 2", " same"].join("\n")

const states: Readonly<Record<string, (seat: Seat) => Seat>> = {
  "empty": (seat) => seat,
  "streaming": (seat) => seat.begin().prompted("Look at it").streams(`${answer}And the next line is not yet comp`),
  "calls": (seat) =>
    seat.begin().prompted("Look around")
      .called({ tool: "read", input: { filePath: "src/a.ts" }, metadata: { first: 1, last: 120, total: 120 } })
      .called({ tool: "grep", input: { pattern: "store\\(", path: "src" }, metadata: { count: 3 } })
      .called({ tool: "bash", input: { command: "npm test" }, metadata: { exit: 1 }, output: "one\ntwo\nfailed" })
      .delegated("a", "Survey of the storage").delegated("b", "Read the tests"),
  "a diff": (seat) =>
    seat.begin().prompted("Change it").called({
      tool: "edit",
      input: { filePath: "src/a.ts" },
      metadata: { added: 1, removed: 1, diff }
    }),
  "a question": (seat) => seat.begin().prompted("Clean up").ask().wait(1_000),
  "a question about a change, with text in the input": (seat) =>
    seat.begin().prompted("Change it").type("and then").ask("per_2", {
      permission: "edit",
      patterns: ["src/a.ts"],
      always: ["src/*"],
      metadata: { filePath: "src/a.ts", diff }
    }).wait(1_000),
  "the tree": (seat) =>
    seat.begin().prompted("Go").delegated("a", "Survey of the storage").delegated("b", "Read 世界").type("\u0014"),
  "a picker": (seat) => {
    seat.model.views.choose(
      "Sessions",
      ["Fix the test", "Say why", "世界 in a title"].map((label) => ({ value: label, label, detail: "2 hours ago" })),
      () => undefined
    )
    return seat.type("t")
  },
  "the menu of commands": (seat) => seat.type("/"),
  "the menu of names": (seat) => seat.type("see @sr"),
  "steered and queued": (seat) => {
    seat.begin().prompted("Go").tell("inbox.updated", {
      waiting: [{ id: "msg_9", text: "and this at once" }, { id: "msg_8", text: "then this", after: "turn" }]
    })
    return seat.type("half a word")
  },
  "resumed": (seat) => {
    seat.begin()
    const part = (id: string, text: string) => ({ id, type: "text", messageID: id, text, time: { start: 0, end: 1 } })
    const messages = [
      { info: { id: "m1", role: "user", time: { created: 0 } }, parts: [part("m1", "An earlier prompt")] },
      {
        info: {
          id: "m2",
          role: "assistant",
          agent: "build",
          providerID: "openai",
          modelID: "m",
          usage: none,
          time: { created: 0 }
        },
        parts: [part("m2", "An **earlier** answer")]
      }
    ] as unknown as Parameters<typeof seat.model.recall>[0]
    seat.model.recall(messages, 200)
    return seat.ends()
  },
  "an error": (seat) => {
    seat.begin().prompted("Go").tell("session.error", {
      error: { tag: "x", message: "openai/m refused the request (401): the key is wrong. Set OPENAI_API_KEY." }
    }).ends()
    return seat
  },
  "wide, combining and right-to-left text": (seat) =>
    seat.begin().prompted("世界 👩‍👩‍👧 e\u0301 שלום مرحبا").said(
      "**世界** is the world, e\u0301 has an accent, שלום is peace.\n"
    ).ends()
      .type("界e\u0301ש👍"),
  "a hostile model": (seat) =>
    seat.begin().prompted("Go").said("before \u001b[2J\u001b]0;owned\u0007\u202eevil\u202c after\n").ends(),
  "a full-screen text": (seat) => {
    seat.begin().prompted("Go")
    seat.model.views.page(new Pager("Help", Array.from({ length: 100 }, (_, at) => `line ${at + 1}`)))
    return seat
  }
}

const drawn = async (build: (seat: Seat) => Seat, columns: number, rows: number) => {
  const seat = build(new Seat(false, {}, columns, rows))
  const glass = await seat.glass()
  const { column, row } = seat.terminal.cursor
  return [...glass.map((line) => `│${line}`), `└ the cursor is in row ${row + 1}, column ${column + 1}`].join("\n")
}

/** The question whether a project's files are trusted, which comes before any session. */
const trust = async (columns: number, rows: number): Promise<string> => {
  const terminal = new TestTerminal(columns, rows)
  const drawn = Effect.runSync(Deferred.make<void>())
  const keyboard = Object.assign(new PassThrough(), { setRawMode: () => undefined }) as unknown as ReadStream
  const asking = Effect.runFork(confirm(
    {
      keyboard,
      write: (text) => {
        terminal.write(text.replaceAll("\n", "\r\n"))
        if (text.includes("Enter confirms")) Deferred.unsafeDone(drawn, Effect.void)
      },
      size: () => ({ columns, rows }),
      onResize: () => Effect.void,
      onLine: () => Effect.void,
      waiting: () => 0,
      style: colourless,
      reflow: "xtermJs"
    },
    "Do you trust this value of the project's files?",
    [
      "Files of this project want more than you have granted:",
      "permission.bash = \"allow\u001b[2J\"  (skein.json)",
      ""
    ],
    [
      { value: "no", label: "No, work without them" },
      { value: "yes", label: "Yes, trust them until they change" },
      { value: "leave", label: "Leave" }
    ]
  ))
  await Effect.runPromise(Deferred.await(drawn))
  await terminal.settled()
  const { glass } = terminal
  await Effect.runPromise(Fiber.interrupt(asking))
  return `${glass.map((line) => `│${line}`).join("\n")}\n`
}

describe.each([[80, 24], [200, 50], [40, 24]])("at %i x %i", (columns, rows) => {
  it.each(Object.entries(states))("%s", async (name, build) => {
    const file = `./golden/session-${columns}/${name.replaceAll(/[ ,-]+/g, "-")}.txt`
    await expect(`${await drawn(build, columns, rows)}\n`).toMatchFileSnapshot(file)
  })
  it("the question of trust", async () => {
    await expect(await trust(columns, rows)).toMatchFileSnapshot(
      `./golden/session-${columns}/the-question-of-trust.txt`
    )
  })
})
