/** A workspace in memory with simple tools over it, and the loop that runs the offline model against them. */
import type { ModelEvent, ModelRequest, PromptMessage, ToolSpec } from "@skein/core/Provider"
import { SessionID } from "@skein/domain/Id"
import { survey } from "@skein/provider/Offline"
import * as Effect from "effect/Effect"

/** Files by path; `undefined` is a file that is no text. */
export type Files = Readonly<Record<string, string | undefined>>

/** What a tool gives: a string is a result, an `error` a failed call. */
export type Output = string | { readonly error: string }

/** How a run differs from one with all tools in order. */
export interface Options {
  /** The tools of the agent at the top; all where absent. */
  readonly tools?: ReadonlyArray<string>
  /** The tools of subagents. */
  readonly childTools?: ReadonlyArray<string>
  /** Lines that a tool shows before it cuts. */
  readonly limit?: number
  /** Whether grep has no parameter `mode`. */
  readonly withoutCounts?: boolean
  /** Replaces the result of a task, by its description. */
  readonly task?: (description: string) => Output | undefined
  readonly grepLayout?: "flat" | "spaced" | "grouped"
}

/** What a run did. */
export interface Run {
  readonly text: string
  /** The calls of the agent at the top, step by step. */
  readonly steps: ReadonlyArray<ReadonlyArray<{ readonly name: string; readonly input: Record<string, unknown> }>>
  /** The same of each subagent, by description. */
  readonly children: Readonly<Record<string, Run>>
  readonly events: ReadonlyArray<ReadonlyArray<ModelEvent>>
}

/** A wildcard as ripgrep reads it: without a slash it is about names, `**` crosses folders. */
const wildcard = (pattern: string): (path: string) => boolean => {
  let source = ""
  for (let i = 0; i < pattern.length; i++) {
    const rest = pattern.slice(i)
    if (rest.startsWith("**/")) [source, i] = [`${source}(?:.*/)?`, i + 2]
    else if (rest.startsWith("**")) [source, i] = [`${source}.*`, i + 1]
    else if (rest.startsWith("*")) source += "[^/]*"
    else if (rest.startsWith("?")) source += "[^/]"
    else if (rest.startsWith("{")) source += "(?:"
    else if (rest.startsWith("}")) source += ")"
    else if (rest.startsWith(",")) source += "|"
    else source += (rest[0] ?? "").replace(/[.+^$()|[\]\\]/, "\\$&")
  }
  const regex = new RegExp(`^${source}$`, "u")
  return (path) => regex.test(pattern.includes("/") ? path : path.slice(path.lastIndexOf("/") + 1))
}

const parameters: Readonly<Record<string, ReadonlyArray<string>>> = {
  glob: ["pattern", "path"],
  grep: ["pattern", "path", "glob", "mode"],
  list: ["path"],
  read: ["filePath", "offset", "limit"],
  task: ["description", "prompt", "subagent_type"]
}

const specOf = (name: string, options: Options): ToolSpec => ({
  name,
  description: name === "task"
    ? "Starts a subagent.\n\n- explore: Looks at files.\n- general: Does anything."
    : `The tool ${name}.`,
  inputSchema: {
    type: "object",
    properties: Object.fromEntries(
      (parameters[name] ?? []).filter((key) => key !== "mode" || options.withoutCounts !== true).map((
        key
      ) => [key, { type: "string" }])
    )
  }
})

const linesOf = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.replace(/\n$/, "").split("\n"))

const under = (path: unknown) => (file: string): boolean => typeof path !== "string" || file.startsWith(`${path}/`)

const text = (value: unknown): string => (typeof value === "string" ? value : "")

const runTool = (files: Files, options: Options, name: string, input: Record<string, unknown>): Output => {
  const bounded = (lines: ReadonlyArray<string>): string => {
    let bytes = 0
    const shown = lines.slice(0, options.limit ?? 2_000).filter((line) => (bytes += line.length + 1) <= 50 * 1024)
    return shown.length === lines.length
      ? lines.join("\n")
      : `${shown.join("\n")}\n\n[Cut here: ${lines.length} lines in all.]`
  }
  const inside = Object.keys(files).filter(under(input["path"]))
  const relative = (
    file: string
  ): string => (typeof input["path"] === "string" ? file.slice(input["path"].length + 1) : file)
  switch (name) {
    case "glob":
      return bounded(inside.filter((file) => wildcard(text(input["pattern"]))(relative(file))).toReversed()) ||
        "No files found."
    case "list":
      return bounded(["./", ...inside.toSorted().map((file) => `  ${file}`)])
    case "grep": {
      const pattern = text(input["pattern"])
      const regex = new RegExp(pattern.replace(/^\(\?i\)/, ""), pattern.startsWith("(?i)") ? "iu" : "u")
      const include = typeof input["glob"] === "string" ? wildcard(input["glob"]) : () => true
      const found = inside.filter(include).map((file) => ({
        file,
        hits: linesOf(files[file] ?? "").flatMap((line, at) => (regex.test(line) ? [{ line, at: at + 1 }] : []))
      })).filter(({ hits }) => hits.length > 0)
      if (input["mode"] === "count") return bounded(found.map(({ file, hits }) => `${file}:${hits.length}`))
      return bounded(found.flatMap(({ file, hits }) =>
        options.grepLayout === "grouped"
          ? [`${file}:`, ...hits.map(({ at, line }) => `  ${at}: ${line}`), ""]
          : hits.map(({ at, line }) => `${file}:${at}:${options.grepLayout === "spaced" ? " " : ""}${line}`)
      )) || "No matches."
    }
    case "read": {
      const path = text(input["filePath"])
      if (!(path in files)) return { error: `File not found: ${path}` }
      const content = files[path]
      if (content === undefined) return { error: `${path} is binary.` }
      const lines = linesOf(content)
      const limit = typeof input["limit"] === "number" ? input["limit"] : 2_000
      const shown = lines.slice(0, limit).map((line, at) => `${String(at + 1).padStart(6)}\t${line}`)
      return [...shown, ...(lines.length > limit ? ["", `[Lines 1 to ${limit} of ${lines.length}.]`] : [])].join("\n")
    }
    default:
      return { error: `Unknown tool: ${name}` }
  }
}

const result = (child: string): string =>
  `task_id: ses_child (for resuming to continue this task if needed)\n\n<task_result>\n${
    child.replace(/<(?=\/?task_result)/g, "&lt;")
  }\n</task_result>`

/** Makes the request that an agent of this kind sends. */
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

/** Everything the model says to a request. */
export const ask = (asked: ModelRequest): Effect.Effect<ReadonlyArray<ModelEvent>> =>
  Effect.suspend(() => {
    const events: Array<ModelEvent> = []
    return Effect.as(Effect.orDieWith(survey.stream(asked, (event) => events.push(event)), (error) => error), events)
  })

/** The text of an answer. */
export const said = (events: ReadonlyArray<ModelEvent>): string =>
  events.flatMap((event) => (event.type === "text-delta" ? [event.delta] : [])).join("")

const runAgent = (
  files: Files,
  prompt: string,
  names: ReadonlyArray<string>,
  options: Options
): Effect.Effect<Run> =>
  Effect.gen(function*() {
    const messages: Array<PromptMessage> = [{ role: "user", content: [{ type: "text", text: prompt }] }]
    const tools = names.map((name) => specOf(name, options))
    const steps: Array<Run["steps"][number]> = []
    const children: Record<string, Run> = {}
    const all: Array<ReadonlyArray<ModelEvent>> = []
    for (;;) {
      const events = yield* ask(request(messages, tools))
      all.push(events)
      const answer = said(events)
      const calls = events.flatMap((event) =>
        event.type === "tool-call"
          ? [{ id: event.id, name: event.name, input: JSON.parse(event.input) as Record<string, unknown> }]
          : []
      )
      if (calls.length === 0) return { text: answer, steps, children, events: all }
      if (steps.length > 8) return yield* Effect.dieMessage("The model goes on and on")
      steps.push(calls.map(({ input, name }) => ({ name, input })))
      messages.push({
        role: "assistant",
        content: [
          { type: "text", text: answer },
          ...calls.map(({ id, input, name }) => ({ type: "tool-call" as const, toolCallId: id, toolName: name, input }))
        ]
      })
      const results = yield* Effect.forEach(calls, ({ id, input, name }) =>
        Effect.map(
          name === "task"
            ? runTask(files, input, options, children)
            : Effect.sync(() => runTool(files, options, name, input)),
          (output) => ({
            type: "tool-result" as const,
            toolCallId: id,
            toolName: name,
            output: typeof output === "string"
              ? { type: "text" as const, value: output }
              : { type: "error-text" as const, value: output.error }
          })
        ))
      messages.push({ role: "tool", content: results })
    }
  })

const runTask = (
  files: Files,
  input: Record<string, unknown>,
  options: Options,
  children: Record<string, Run>
): Effect.Effect<Output> => {
  const description = text(input["description"])
  const replaced = options.task?.(description)
  if (replaced !== undefined) return Effect.succeed(replaced)
  return Effect.map(
    runAgent(files, text(input["prompt"]), options.childTools ?? ["glob", "grep", "list", "read"], options),
    (child) => {
      children[description] = child
      return result(child.text)
    }
  )
}

/** Runs a prompt to its end over these files. */
export const run = (files: Files, prompt: string, options: Options = {}): Effect.Effect<Run> =>
  runAgent(files, prompt, options.tools ?? ["glob", "grep", "list", "read", "task"], options)
