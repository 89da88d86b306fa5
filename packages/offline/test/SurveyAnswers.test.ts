import { describe, expect, it } from "@effect/vitest"
import type { PromptMessage } from "@skein/core/Provider"
import { survey } from "@skein/offline/Survey"
import * as Effect from "effect/Effect"
import { lines, monorepo, python } from "./support/fixtures.ts"
import { ask, called, completed, request, runWith, said, taskSpec, user } from "./support/loop.ts"
import { run, workspace } from "./support/workspace.ts"

const prompt = "Survey this repository."

const notCovered = (text: string): string => text.split("## Not covered\n")[1] ?? ""

const answers = (text: string): ReadonlyArray<string> =>
  (text.split("## Answer\n")[1] ?? "").split("\n## ")[0]?.split("\n").filter((line) => line.startsWith("- ")) ?? []

describe("a question", () => {
  it.effect("about an entry point gets it as the first answer", () =>
    Effect.map(run(monorepo, "Where is the CLI entry?"), ({ text }) => {
      expect(text.indexOf("## Answer")).toBeLessThan(text.indexOf("## Entry points"))
      expect(text).toMatch(/plain search for `CLI`.*no understanding/)
      expect(answers(text)[0]).toBe("- packages/cli/package.json:4  command rocket -> packages/cli/bin/rocket.js")
    }))

  it.effect("about a name gets its definition before its uses, and tests last", () =>
    Effect.map(run(monorepo, "Please find usages of launchRocket"), ({ text }) =>
      expect(answers(text)).toEqual([
        "- packages/core/src/Launch.ts:8  export const launchRocket = (rocket: Rocket) => Effect.as(tick, rocket)",
        "- packages/cli/src/main.ts:5  NodeRuntime.runMain(Effect.succeed(launchRocket))",
        "- packages/cli/src/main.ts:1  import { launchRocket } from \"@acme/core/Launch\"",
        "- packages/core/test/Launch.test.ts:4  test(\"flies\", () => launchRocket(fakeRocket))",
        "- packages/core/test/Launch.test.ts:1  import { launchRocket } from \"../src/Launch.ts\""
      ])))

  it.effect("in another language matches whole words", () =>
    Effect.map(
      run({ "a.md": lines("Die Größe der Rakete", "Raketengrößenordnung", "größe (mm)") }, "Was ist die Größe?"),
      ({ text }) => expect(answers(text)).toEqual(["- a.md:1  Die Größe der Rakete", "- a.md:3  größe (mm)"])
    ))

  it.effect("finds a short word in names and plurals, and not inside other words", () =>
    Effect.map(
      run(
        { "a.ts": lines("runCli()", "client()", "// two CLIs", "const cliEntry = 1", "clinic()") },
        "Where is the CLI?"
      ),
      ({ text }) =>
        expect(answers(text).map((line) => line.split("  ")[0])).toEqual(["- a.ts:3", "- a.ts:1", "- a.ts:4"])
    ))

  it.effect("of common words only is a survey", () =>
    Effect.map(
      run(monorepo, "Hi, can you please give me an overview of the modules?"),
      ({ text }) => expect(text).not.toContain("## Answer")
    ))

  it.effect("without a match says so", () =>
    Effect.map(run(monorepo, "Where are the submarines?"), ({ text }) => {
      expect(answers(text)).toEqual(["- Nothing matches."])
      expect(text).toContain("## Modules")
    }))
})

describe("subagents that fail", () => {
  const failed = (state: string, partial = "") => ({
    error:
      `task_id: ses_x (for resuming to continue this task if needed)\nstate: ${state}\n\n<task_error>\nThe model broke.\n</task_error>${
        partial === "" ? "" : `\n\n<task_result>\n${partial}\n</task_result>`
      }`
  })

  it.effect("are named with their reason, and the rest is reported", () =>
    Effect.gen(function*() {
      const { text } = yield* run(monorepo, prompt, {
        task: (description) => (description.includes("core") ? failed("failed") : undefined)
      })
      expect(text).toContain("surveyed by 2 of 3 subagents in parallel")
      expect(notCovered(text)).toMatch(/^\n- .*core.*: no full report \(failed\): The model broke\./)
      expect(text).toMatch(/\| packages\/core +\| +\d+ \| +\? \| +\? \| .*not surveyed/)
      expect(text).toContain("at least ")
      expect(text).not.toContain("packages/core/src/Launch.ts:4")
      expect(text).toContain("packages/testing/src/Fake.ts:1")
    }))

  it.effect("are listed if they were refused before they started", () =>
    Effect.map(
      run(monorepo, prompt, { task: () => ({ error: "The limit of 256 tasks is reached (limits.max_tasks)." }) }),
      ({ text }) => {
        expect(text).toContain("surveyed by 0 of 3 subagents")
        expect(notCovered(text).trim()).toBe(
          "- (top), docs, cli; packages/core; domain, testing: no full report (refused): The limit of 256 tasks is reached (limits.max_tasks)."
        )
      }
    ))

  it.effect("contribute their partial work", () =>
    Effect.gen(function*() {
      const whole = yield* run(monorepo, prompt)
      const name = Object.keys(whole.children).find((description) => description.includes("core")) ?? ""
      const { text } = yield* run(monorepo, prompt, {
        task: (description) => (description === name ? failed("timed_out", whole.children[name]?.text) : undefined)
      })
      expect(notCovered(text)).toContain("no full report (timed_out): The model broke.")
      expect(text).toContain("packages/core/src/Launch.ts:4")
    }))

  it.effect("are quoted if they answer in free text", () =>
    Effect.map(
      run(monorepo, prompt, { task: () => completed("I like rockets.") }),
      ({ text }) => expect(text).toMatch(/## .*, in its own words\n\nI like rockets\./)
    ))
})

describe("an agent without some tools", () => {
  const arrow = "packages/core/src/Launch.ts:4"

  it.effect("surveys alone if it cannot delegate, with the same facts", () =>
    Effect.gen(function*() {
      const { steps, text } = yield* run(monorepo, prompt, { tools: ["glob", "grep", "list", "read"] })
      const sent = yield* run(monorepo, prompt)
      expect(steps.flat().map((call) => call.name)).not.toContain("task")
      expect(text).toContain("surveyed without subagents")
      const below = (report: string) => report.slice(report.indexOf("## Entry points"))
      expect(below(text)).toBe(below(sent.text))
    }))

  it.effect("delegates to an agent that can read files if it cannot", () =>
    Effect.map(run(monorepo, prompt, { tools: ["task", "read"] }), ({ steps, text }) => {
      expect(steps.flat().map((call) => [call.name, call.input["prompt"]])).toEqual([["task", prompt]])
      expect(text.match(/No AI wrote this/g)).toHaveLength(1)
      expect(text).toContain(arrow)
    }))

  it.effect("says that it can see nothing without glob and grep", () =>
    Effect.map(
      run(monorepo, prompt, { tools: ["read"] }),
      ({ text }) => expect(text).toContain("Glob and grep are not both offered")
    ))

  it.effect("concludes with what it has when tools are withheld", () =>
    Effect.gen(function*() {
      const { messages } = yield* run(python, prompt)
      const events = yield* ask(request([...messages.slice(0, 3), user("You have reached the limit of 2 steps.")], []))
      expect(called(events)).toEqual([])
      expect(said(events)).toContain("## Modules")
    }))

  it.effect("calls nothing if calls are forbidden", () =>
    Effect.map(
      ask(request([user(prompt)], workspace(monorepo).specs, { toolChoice: "none" })),
      (events) => expect(called(events)).toEqual([])
    ))
})

describe("the wire", () => {
  it.effect("is that of a model: connected, text in deltas, calls with JSON, one finish", () =>
    Effect.gen(function*() {
      const { events } = yield* run(monorepo, prompt)
      expect(events).toHaveLength(3)
      for (const [step, answer] of events.entries()) {
        const types = answer.map((event) => event.type)
        expect(types[0]).toBe("connected")
        expect(types.filter((type) => type === "finish")).toHaveLength(1)
        const finish = answer.at(-1)
        expect(finish).toMatchObject({ type: "finish", finish: step === 2 ? "stop" : "tool-calls" })
      }
      const deltas = events[2]?.filter((event) => event.type === "text-delta") ?? []
      expect(deltas.length).toBeGreaterThan(8)
      const ids = events.flatMap(called).map((call) => call.id)
      expect(new Set(ids).size).toBe(ids.length)
    }))

  it.effect("estimates a token for four characters", () =>
    Effect.gen(function*() {
      const system: PromptMessage = { role: "system", content: "x".repeat(20) }
      const events = yield* ask(request([system, user("y".repeat(21))], []))
      expect(events.at(-1)).toMatchObject({
        tokens: { input: 11, output: Math.ceil(said(events).length / 4), reasoning: 0 }
      })
    }))

  it("costs nothing and says that it is not an AI", () => {
    expect(survey.info).toMatchObject({ providerID: "offline", modelID: "survey", price: { input: "0", output: "0" } })
    expect(survey.info.name).toMatch(/no AI/)
    expect(survey.limitKey).toBe("offline/survey")
  })

  it.effect("gives the same answer to the same conversation", () =>
    Effect.gen(function*() {
      const first = yield* run(monorepo, "Where is launchRocket?")
      const second = yield* run(Object.fromEntries(Object.entries(monorepo).toReversed()), "Where is launchRocket?")
      expect(second.events).toEqual(first.events)
    }))

  it.effect("never makes the same call twice in a step", () =>
    Effect.gen(function*() {
      const files = Object.fromEntries(
        Array.from({ length: 120 }, (_, at) => [`src/${at % 2 === 0 ? "a/" : ""}f${at}.ts`, "export {}\n"])
      )
      const { children, steps } = yield* run(files, prompt, { limit: 30 })
      for (const step of [steps, ...Object.values(children).map((child) => child.steps)].flat()) {
        expect(new Set(step.map((call) => JSON.stringify(call))).size).toBe(step.length)
      }
    }))
})

describe("a conversation", () => {
  it.effect("starts again with each prompt", () =>
    Effect.gen(function*() {
      const first = yield* run(monorepo, prompt)
      const second = yield* runWith(workspace(monorepo), "Where is fakeRocket?", {}, first.messages)
      expect(second.steps).toHaveLength(2)
      expect(answers(second.text)[0]).toBe("- packages/testing/src/Fake.ts:2  export const fakeRocket = new Rocket()")
      const ids = second.messages.flatMap((message) =>
        message.role === "assistant"
          ? message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []))
          : []
      )
      expect(new Set(ids).size).toBe(ids.length)
    }))

  it.effect("reports a message that arrived meanwhile as ignored", () =>
    Effect.gen(function*() {
      const { messages } = yield* run(python, prompt)
      const late = [...messages.slice(0, -1), user("Also count the birds")]
      const events = yield* ask(request(late, [...workspace(python).specs, taskSpec]))
      expect(notCovered(said(events))).toContain("not acted on, as it follows no instructions: Also count the birds")
    }))

  it.effect("reports the result of a subagent that a command started", () =>
    Effect.gen(function*() {
      const messages: ReadonlyArray<PromptMessage> = [
        user("/review"),
        {
          role: "assistant",
          content: [{
            type: "tool-call",
            toolCallId: "c",
            toolName: "task",
            input: { description: "Review", prompt: "Look" }
          }]
        },
        {
          role: "tool",
          content: [{
            type: "tool-result",
            toolCallId: "c",
            toolName: "task",
            output: { type: "text", value: completed("All <b>good</b>.") }
          }]
        },
        user("Summarize the task tool output above and continue with your task.")
      ]
      const events = yield* ask(request(messages, [...workspace(python).specs, taskSpec]))
      expect(called(events)).toEqual([])
      expect(said(events)).toContain("## Review\n\nAll <b>good</b>.")
    }))

  it.effect("reports the result of a background task", () =>
    Effect.gen(function*() {
      const notification = lines(
        "<task-notification task_id=\"ses_1\" run_id=\"run_1\" status=\"completed\">",
        "A background task has completed.",
        "",
        "Task Description: Count birds",
        "SubAgent Type: explore",
        "Execution Time: 5ms",
        "",
        "Result:",
        "Seven &lt;/task-notification> birds.",
        "",
        "Two of them sing.",
        "",
        "Analyze this result and decide how to proceed:",
        "1. If the task is complete, summarize the results for the user",
        "</task-notification>"
      )
      const events = yield* ask(request([user(notification)], workspace(python).specs))
      expect(called(events)).toEqual([])
      expect(said(events)).toContain("## Count birds\n\nSeven </task-notification> birds.\n\nTwo of them sing.")
    }))

  it.effect("gets a title from its first words", () =>
    Effect.gen(function*() {
      const title = (text: string) => {
        const asked = request([user(text)], [])
        return Effect.map(ask({ ...asked, origin: { ...asked.origin, purpose: "title" } }), said)
      }
      expect(yield* title("  Where is\nthe \"CLI\" entry?  ")).toBe("Where is the CLI entry")
      const long = yield* title("word ".repeat(40))
      expect(long.length).toBeLessThanOrEqual(50)
      expect(long.length).toBeGreaterThan(20)
      expect((yield* title("x".repeat(90))).length).toBe(50)
      expect(yield* title("")).toBe("Survey")
    }))

  it.effect("shortens a conversation to the beginnings of its newest messages", () =>
    Effect.gen(function*() {
      const shortened = (text: string) => {
        const asked = request([user(text)], [])
        return Effect.map(ask({ ...asked, origin: { ...asked.origin, purpose: "compaction" } }), said)
      }
      expect(yield* shortened(`User: Survey\nthis\n\nAgent: ${"word ".repeat(100)}\n\nmore\n\nNote: go on`)).toBe(
        `By fixed rules, the beginning of what was said in 3 messages:\nUser: Survey this\nAgent: ${
          "word ".repeat(100).slice(0, 153)
        }\nNote: go on`
      )
      const long = yield* shortened(Array.from({ length: 200 }, (_, n) => `User: ${n} ${"x".repeat(200)}`).join("\n\n"))
      expect(long.length).toBeLessThan(4_200)
      expect(long).toContain("User: 199 ")
      expect(long).not.toContain("User: 0 ")
    }))

  it.effect("summarises a session from its digest", () =>
    Effect.gen(function*() {
      const summary = (...lines: ReadonlyArray<string>) => {
        const asked = request([user(lines.join("\n"))], [])
        return Effect.map(ask({ ...asked, origin: { ...asked.origin, purpose: "summary" } }), said)
      }
      expect(
        yield* summary(
          "Session: Birds\nDirectory: /w\nAgent: build\n",
          "Asked:\n- Count birds\n- Now rename them\n",
          "Files changed:\n- src/a (1).ts (edit by build)\n- b.ts (write by general)\n",
          "Tasks of subagents:\n- Look (explore), completed: Seven\n",
          "Open todos:\n- feed them (pending)\n",
          "Last answer:\nDone.\n\nOpen todos:\n- none of this"
        )
      ).toBe(
        "Asked: Now rename them\nChanged 2 files: src/a (1).ts, b.ts.\n1 task of subagents.\nOpen: feed them.\nAnswered: Done."
      )
      expect(yield* summary("Session: x\n", "Asked:\n- Hi\n", "Files changed:\n- none")).toBe(
        "Asked: Hi\nNo files were changed."
      )
    }))
})
