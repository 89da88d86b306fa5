/**
 * Writes what is known about a session's work for the summarising agent: never the conversation, and never more than a
 * fixed length.
 */
import { cut } from "../cutText.ts"
import type { CommandRun, FileChange, SessionFacts } from "./sessionFacts.ts"

/** The maximum characters of each section, and of each line. */
const room = { prompts: 5_000, files: 5_000, commands: 2_500, tasks: 5_000, todos: 1_500, answer: 4_000, line: 600 }

const oneLine = (text: string): string => cut(text.replaceAll(/\s+/g, " ").trim(), room.line)

/** The first line and as many of the last ones as fit; says how many are left out. */
const fitting = (lines: ReadonlyArray<string>, characters: number): ReadonlyArray<string> => {
  const [first, ...rest] = lines
  if (first === undefined) return []
  const kept: Array<string> = []
  let left = characters - first.length
  for (const line of rest.toReversed()) {
    left -= line.length + 1
    if (left < 0) break
    kept.push(line)
  }
  const omitted = rest.length - kept.length
  return [first, ...(omitted === 0 ? [] : [`- (${omitted} more)`]), ...kept.toReversed()]
}

const section = (name: string, items: ReadonlyArray<string>, characters: number): ReadonlyArray<string> =>
  items.length === 0
    ? []
    : [[`${name}:`, ...fitting(items.map((item) => `- ${oneLine(item)}`), characters)].join("\n")]

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
    ...section("Asked", prompts, room.prompts),
    ...section("Files changed", files.length === 0 ? ["none"] : files, room.files),
    ...section("Commands run", grouped(commands, ({ command }) => command).map(commandLine), room.commands),
    ...section(
      "Tasks of subagents",
      tasks.map(({ agent, description, end }) => `${cut(description, 100)} (${agent}), ${end}`),
      room.tasks
    ),
    ...section("Open todos", todos.map(({ content, status }) => `${content} (${status})`), room.todos),
    ...(answer === "" ? [] : [`Last answer:\n${cut(answer, room.answer)}`])
  ].join("\n\n").toWellFormed()
}
