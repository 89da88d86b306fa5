/**
 * Collects what is known about the work of a session and all below it, and writes it for the summarising agent: never
 * the conversation, and never more than a fixed length.
 */
import type { MessageID, SessionID } from "@skein/domain/Id"
import { reason } from "@skein/domain/Outcome"
import type { MessageWithParts, ToolCompleted, ToolPart } from "@skein/domain/Part"
import type { SessionInfo, Todo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { readOnlyCommands } from "../../Agent.ts"
import { eachMessagePage, orUnreadable, SessionStorage } from "../../SessionStorage.ts"
import { changesFiles, Tools } from "../../Tool.ts"
import { answerOf } from "../conversation/makePrompt.ts"
import { cut, section } from "../text.ts"

/** A call that did something, and the agent that made it. */
interface Done {
  readonly agent: string
  readonly tool: string
  readonly at: number
}

/** A changed file, as the call named it. */
interface FileChange extends Done {
  readonly file: string
}

/** A shell command that may have changed something. */
interface CommandRun extends Done {
  readonly command: string
  /** Its exit code, if it reported one. */
  readonly exit: number | undefined
}

/** What is known about a session's work, each list in order of time. */
interface SessionFacts {
  readonly info: SessionInfo
  /** The last message of the session; undefined if there is none. */
  readonly until: MessageID | undefined
  /** The prompts of the session. */
  readonly prompts: ReadonlyArray<string>
  readonly changes: ReadonlyArray<FileChange>
  readonly commands: ReadonlyArray<CommandRun>
  readonly tasks: ReadonlyArray<{ readonly agent: string; readonly description: string; readonly end: string }>
  /** The open todos of the session. */
  readonly todos: ReadonlyArray<Todo>
  /** The last text of the session itself; empty if there is none. */
  readonly answer: string
}

/** Built-in tools that change files, for sessions that are read without them. */
const editors = ["edit", "write", "patch"]

const readsOnly: ReadonlySet<string> = new Set(readOnlyCommands)

const isText = (value: unknown): value is string => typeof value === "string"

/** The files that a call says it changed: in `filePath`, or as `A path`, `M path` and `D path` in `files`. */
const filesOf = ({ metadata: { filePath, files } }: ToolCompleted): ReadonlyArray<string> =>
  isText(filePath)
    ? [filePath]
    : Array.isArray(files)
    ? files.filter(isText).map((file) => file.replace(/^[ADM] /, ""))
    : []

const commandOf = ({ input }: ToolCompleted): string | undefined =>
  typeof input === "object" && input !== null && "command" in input && isText(input.command)
    ? input.command.trim()
    : undefined

interface Work {
  readonly changes: Array<FileChange>
  readonly commands: Array<CommandRun>
}

const readCall = (work: Work, agent: string, { state, tool }: ToolPart, isEditor: (tool: string) => boolean): void => {
  if (state.status !== "completed") return
  const done: Done = { agent, tool, at: state.time.end }
  if (isEditor(tool)) { for (const file of filesOf(state)) work.changes.push({ ...done, file }) }
  const command = tool === "bash" ? commandOf(state) : undefined
  if (command === undefined || readsOnly.has(command)) return
  const { exit } = state.metadata
  work.commands.push({ ...done, command, exit: typeof exit === "number" ? exit : undefined })
}

const promptOf = ({ info, parts }: MessageWithParts): ReadonlyArray<string> => {
  if (info.role !== "user") return []
  const said = parts.flatMap((part) =>
    part.type === "text" && part.synthetic !== true
      ? [part.text]
      : part.type === "subtask"
      ? [`${part.description}: ${part.prompt}`]
      : []
  ).join("\n").trim()
  return said === "" ? [] : [said]
}

/** The session and those below it, top down. */
const subtree = (top: SessionInfo, all: ReadonlyArray<SessionInfo>): ReadonlyArray<SessionInfo> => {
  const below = new Map<SessionID, Array<SessionInfo>>()
  for (const info of all) {
    if (info.parentID !== undefined) below.set(info.parentID, [...below.get(info.parentID) ?? [], info])
  }
  const found = [top]
  for (const info of found) for (const child of below.get(info.id) ?? []) found.push(child)
  return found
}

const byTime = <A extends Done>(done: ReadonlyArray<A>): ReadonlyArray<A> => done.toSorted((a, b) => a.at - b.at)

/** Reads it from storage, with a page of messages at a time in memory. */
export const sessionFacts = Effect.fnUntraced(function*(top: SessionInfo) {
  const storage = yield* SessionStorage
  const tools = yield* Tools
  const changing = new Set([...editors, ...tools.all().filter(changesFiles).map(({ name }) => name)])
  const work: Work = { changes: [], commands: [] }
  const read = (messages: ReadonlyArray<MessageWithParts>) => {
    for (const { info, parts } of messages) {
      for (const part of parts) {
        if (part.type === "tool") readCall(work, info.agent, part, (tool) => changing.has(tool))
      }
    }
  }
  const sessions = subtree(top, (yield* storage.sessions({ rootID: top.rootID })).rows)
  const prompts: Array<string> = []
  let until: MessageID | undefined
  let answer = ""
  yield* eachMessagePage(top.id, ({ rows }) =>
    Effect.sync(() => {
      read(rows)
      for (const message of rows) {
        for (const prompt of promptOf(message)) prompts.push(prompt)
        answer = message.info.role === "assistant" ? answerOf(message.parts) || answer : answer
        until = message.info.id
      }
    }))
  yield* Effect.forEach(
    sessions.slice(1),
    ({ id }) => eachMessagePage(id, ({ rows }) => Effect.sync(() => read(rows))),
    { discard: true }
  )
  const callers = new Set(sessions.map(({ id }) => id))
  const { rows: runs } = yield* storage.runs({ rootID: top.rootID })
  return {
    info: top,
    until,
    prompts,
    changes: byTime(work.changes),
    commands: byTime(work.commands),
    tasks: runs.filter(({ parentID }) => callers.has(parentID)).map(({ agent, description, outcome }) => ({
      agent,
      description,
      end: outcome === undefined
        ? "has not ended"
        : `${outcome.status}: ${outcome.status === "completed" ? outcome.text : reason(outcome)}`
    })),
    todos: (yield* orUnreadable(storage.todos(top.id), [])).filter(({ status }) =>
      status === "pending" || status === "in_progress"
    ),
    answer
  } satisfies SessionFacts
})

/** The maximum characters of each section, and of each line. */
const room = { prompts: 5_000, files: 5_000, commands: 2_500, tasks: 5_000, todos: 1_500, answer: 4_000, line: 600 }

const oneLine = (text: string): string => cut(text.replaceAll(/\s+/g, " ").trim(), room.line)

const sectionOf = (name: string, items: ReadonlyArray<string>, characters: number): ReadonlyArray<string> =>
  section(name, items.map((item) => `- ${oneLine(item)}`), characters)

/** The agents that did something, each once. */
const distinct = (names: ReadonlyArray<string>): string => [...new Set(names)].join(", ")

/** What happened under each key, sorted by the last time. */
const grouped = <A>(
  items: ReadonlyArray<A>,
  keyOf: (item: A) => string
): ReadonlyArray<readonly [string, Array<A>]> => {
  const groups = new Map<string, Array<A>>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key) ?? []
    groups.delete(key)
    groups.set(key, [...group, item])
  }
  return [...groups]
}

const fileLine = ([file, changes]: readonly [string, ReadonlyArray<FileChange>]): string =>
  `${file} (${distinct(changes.map(({ tool }) => tool))} by ${distinct(changes.map(({ agent }) => agent))})`

const commandLine = ([command, runs]: readonly [string, ReadonlyArray<CommandRun>]): string => {
  const exit = runs.at(-1)?.exit ?? 0
  return `${cut(command, 300)} (${distinct(runs.map(({ agent }) => agent))}${exit === 0 ? "" : `, exit code ${exit}`})`
}

/** The changed files, the latest change last. */
export const changedFiles = ({ changes }: SessionFacts): ReadonlyArray<string> =>
  grouped(changes, ({ file }) => file).map(([file]) => file.toWellFormed())

/** The digest: sections of lines with dashes, and the last answer at the end. */
export const digest = (facts: SessionFacts): string => {
  const { answer, changes, commands, info, prompts, tasks, todos } = facts
  const files = grouped(changes, ({ file }) => file).map(fileLine)
  return [
    `Session: ${oneLine(info.title)}\nDirectory: ${oneLine(info.directory)}\nAgent: ${oneLine(info.agent)}`,
    ...sectionOf("Asked", prompts, room.prompts),
    ...sectionOf("Files changed", files.length === 0 ? ["none"] : files, room.files),
    ...sectionOf("Commands run", grouped(commands, ({ command }) => command).map(commandLine), room.commands),
    ...sectionOf(
      "Tasks of subagents",
      tasks.map(({ agent, description, end }) => `${cut(description, 100)} (${agent}), ${end}`),
      room.tasks
    ),
    ...sectionOf("Open todos", todos.map(({ content, status }) => `${content} (${status})`), room.todos),
    ...(answer === "" ? [] : [`Last answer:\n${cut(answer, room.answer)}`])
  ].join("\n\n").toWellFormed()
}
