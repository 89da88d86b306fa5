/** Runs the offline model against tools, like a session without anything else. */
import type { ModelEvent, ModelRequest, PromptMessage, ToolSpec } from "@skein/core/Provider"
import { SessionID } from "@skein/domain/Id"
import { survey } from "@skein/offline/Survey"
import * as Effect from "effect/Effect"

/** The output of a tool: a string is a result, an `error` a failed call. */
export type Output = string | { readonly error: string }

/** The arguments of a call. */
export type Input = Readonly<Record<string, unknown>>

/** Tools, and how to run them. */
export interface Tools {
  readonly specs: ReadonlyArray<ToolSpec>
  readonly call: (name: string, input: Input) => Effect.Effect<Output>
  readonly directory: string
}

/** The options of a run; by default all tools in order. */
export interface Options {
  /** The tools of the root agent; all by default. */
  readonly tools?: ReadonlyArray<string>
  /** The tools of subagents; all but `task` by default. */
  readonly childTools?: ReadonlyArray<string>
  /** Replaces the result of a task, by its description. */
  readonly task?: (description: string) => Output | undefined
}

/** The record of a run. */
export interface Run {
  readonly text: string
  /** The calls of the root agent, step by step. */
  readonly steps: ReadonlyArray<ReadonlyArray<{ readonly name: string; readonly input: Input }>>
  /** The calls of each subagent, by description. */
  readonly children: Readonly<Record<string, Run>>
  readonly messages: ReadonlyArray<PromptMessage>
  readonly events: ReadonlyArray<ReadonlyArray<ModelEvent>>
}

/** The tool `task` as offered. */
export const taskSpec: ToolSpec = {
  name: "task",
  description: "Starts a subagent.\n\n- explore: Looks at files.\n- general: Does anything.",
  inputSchema: { type: "object", properties: { description: {}, prompt: {}, subagent_type: {} } }
}

/** A request with these messages and tools. */
export const request = (
  messages: ReadonlyArray<PromptMessage>,
  tools: ReadonlyArray<ToolSpec>,
  over: Partial<ModelRequest> = {}
): ModelRequest => ({
  messages,
  tools,
  toolChoice: "auto",
  origin: {
    sessionID: SessionID.make("ses_0"),
    rootID: SessionID.make("ses_0"),
    path: ["build"],
    step: 0,
    directory: "/project",
    purpose: "turn"
  },
  ...over
})

/** A prompt as a message. */
export const user = (text: string): PromptMessage => ({ role: "user", content: [{ type: "text", text }] })

/** Everything the model says to a request. */
export const ask = (asked: ModelRequest): Effect.Effect<ReadonlyArray<ModelEvent>> =>
  Effect.suspend(() => {
    const events: Array<ModelEvent> = []
    return Effect.as(Effect.orDieWith(survey.stream(asked, (event) => events.push(event)), (error) => error), events)
  })

/** The text of an answer. */
export const said = (events: ReadonlyArray<ModelEvent>): string =>
  events.flatMap((event) => (event.type === "text-delta" ? [event.delta] : [])).join("")

/** The calls of an answer. */
export const called = (events: ReadonlyArray<ModelEvent>) =>
  events.flatMap((event) =>
    event.type === "tool-call" ? [{ id: event.id, name: event.name, input: JSON.parse(event.input) as Input }] : []
  )

/** The result of a task that completed. */
export const completed = (text: string): string =>
  `task_id: ses_child (for resuming to continue this task if needed)\n\n<task_result>\n${
    text.replace(/<(?=\/?task_(result|error))/gi, "&lt;").trim()
  }\n</task_result>`

const runAgent = (
  tools: Tools,
  options: Options,
  names: ReadonlyArray<string>,
  before: ReadonlyArray<PromptMessage>
): Effect.Effect<Run> =>
  Effect.gen(function*() {
    const messages: Array<PromptMessage> = [...before]
    const specs = [...tools.specs, taskSpec].filter((spec) => names.includes(spec.name))
    const steps: Array<Run["steps"][number]> = []
    const children: Record<string, Run> = {}
    const all: Array<ReadonlyArray<ModelEvent>> = []

    const task = Effect.fnUntraced(function*(input: Input) {
      const description = String(input["description"])
      const replaced = options.task?.(description)
      if (replaced !== undefined) return replaced
      const inner = options.childTools ?? tools.specs.map((spec) => spec.name)
      const child = yield* runAgent(tools, options, inner, [user(String(input["prompt"]))])
      children[description] = child
      return completed(child.text)
    })

    for (;;) {
      const asked = request(messages, specs)
      const events = yield* ask({ ...asked, origin: { ...asked.origin, directory: tools.directory } })
      const calls = called(events)
      const content = [
        { type: "text" as const, text: said(events) },
        ...calls.map(({ id, input, name }) => ({ type: "tool-call" as const, toolCallId: id, toolName: name, input }))
      ]
      all.push(events)
      messages.push({ role: "assistant", content })
      if (calls.length === 0) return { text: said(events), steps, children, messages, events: all }
      if (steps.length > 9) return yield* Effect.dieMessage("The model never ends")
      steps.push(calls.map(({ input, name }) => ({ name, input })))
      const results = yield* Effect.forEach(
        calls,
        ({ id, input, name }) =>
          Effect.map(name === "task" ? task(input) : tools.call(name, input), (output) => ({
            type: "tool-result" as const,
            toolCallId: id,
            toolName: name,
            output: typeof output === "string"
              ? { type: "text" as const, value: output }
              : { type: "error-text" as const, value: output.error }
          })),
        { concurrency: 8 }
      )
      messages.push({ role: "tool", content: results })
    }
  })

/** Runs a prompt to its end; `before` is what was said earlier. */
export const runWith = (
  tools: Tools,
  prompt: string,
  options: Options = {},
  before: ReadonlyArray<PromptMessage> = []
): Effect.Effect<Run> =>
  runAgent(tools, options, options.tools ?? [...tools.specs.map((spec) => spec.name), "task"], [
    ...before,
    user(prompt)
  ])
