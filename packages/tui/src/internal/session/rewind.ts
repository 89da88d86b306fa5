/**
 * Goes back to an earlier prompt: the conversation continues in a copy that ends before it. Files can be put back as
 * tools found them; Skein cannot tell what commands changed.
 */
import type { BackendError } from "@skein/backend/BackendError"
import { eachPage, lastMessage } from "@skein/backend/Sessions"
import type { MessageID } from "@skein/domain/Id"
import type { MessageWithParts, ToolPart } from "@skein/domain/Part"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type { SessionHost } from "../../SessionHost.ts"
import type { RestoredFile, RewindRequest } from "../model/Request.ts"
import { type Acting, filesElsewhere, heardStart } from "./Acting.ts"

/** A change of a file, as the tool that made it noted it. */
interface FileChange {
  readonly file: string
  /** A unified diff; undefined where the tool noted none, or not all of it. */
  readonly diff: string | undefined
  readonly isCreated: boolean
  readonly at: number
}

/** What has happened since a prompt. */
interface Since {
  /** The latest first. */
  readonly changes: ReadonlyArray<FileChange>
  readonly commands: ReadonlyArray<string>
}

const isText = (value: unknown): value is string => typeof value === "string"

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** What tools write behind a diff that they cut. */
const cut = "\n… (more is not shown)"

const diffOf = (diff: unknown): string | undefined =>
  isText(diff) && diff.startsWith("@@ ") && !diff.endsWith(cut) ? diff : undefined

/** The diffs of a patch, by the names of their files. */
const sectionsOf = (diff: unknown): ReadonlyMap<string, string> =>
  isText(diff) && !diff.endsWith(cut)
    ? new Map(
      diff.split(/^\+\+\+ /m).slice(1).map((section) => {
        const end = section.indexOf("\n")
        return end < 0 ? [section, ""] : [section.slice(0, end), section.slice(end + 1).replace(/\n$/, "")]
      })
    )
    : new Map()

const changesOf = ({ state, tool }: ToolPart): ReadonlyArray<FileChange> => {
  if (state.status !== "completed" || state.metadata["done"] === "unchanged") return []
  const { diff, done, filePath, files } = state.metadata
  const at = state.time.end
  if ((tool === "edit" || tool === "write") && isText(filePath)) {
    return [{ file: filePath, diff: diffOf(diff), isCreated: done === "created", at }]
  }
  if (tool !== "patch" || !Array.isArray(files)) return []
  const sections = sectionsOf(diff)
  return files.filter(isText).map((listed) => {
    const file = listed.replace(/^[ADM] /, "")
    return { file, diff: diffOf(sections.get(file)), isCreated: listed.startsWith("A "), at }
  })
}

const commandOf = ({ state, tool }: ToolPart): ReadonlyArray<string> =>
  tool === "bash" && state.status === "completed" && isRecord(state.input) && isText(state.input["command"])
    ? [state.input["command"]]
    : []

/** What has happened in the calls of these messages since a time, in milliseconds. */
export const changedSince = (messages: ReadonlyArray<MessageWithParts>, since: number): Since => {
  const parts = messages.flatMap((message) => message.parts).filter((part): part is ToolPart =>
    part.type === "tool" && part.state.status === "completed" && part.state.time.end >= since
  )
  return {
    changes: parts.flatMap(changesOf).toSorted((a, b) => b.at - a.at),
    commands: [...new Set(parts.flatMap(commandOf))]
  }
}

/** What can be taken back, and the files for which it cannot. */
interface RestorePlan {
  readonly files: ReadonlyArray<RestoredFile>
  readonly others: ReadonlyArray<string>
}

/** The text before a change; undefined where it does not fit the text of now. */
type Undo = (text: string, diff: string) => string | undefined

const loadUndo: Effect.Effect<Undo> = Effect.map(
  Effect.promise(() => import("diff")),
  ({ applyPatch, parsePatch, reversePatch }): Undo => (text, diff) => {
    const [patch] = parsePatch(diff)
    if (patch === undefined) return undefined
    const before = applyPatch(text, reversePatch(patch), { fuzzFactor: 0 })
    return before === false ? undefined : before
  }
)

/** The text of a file before all of its changes, the latest of which comes first; `undefined` inside where it was created. */
const undone = (text: string | undefined, changes: ReadonlyArray<FileChange>, undo: Undo): RestoredFile | undefined => {
  let now = text
  for (const { diff, isCreated } of changes) {
    if (diff === undefined) return undefined
    // Of a file that is gone, a diff makes what it held.
    const before = undo(now ?? "", diff)
    if (before === undefined || (isCreated && before !== "")) return undefined
    now = isCreated ? undefined : before
  }
  const [first] = changes
  return first === undefined ? undefined : { file: first.file, text: now }
}

/** Says what can be taken back. Changes nothing. */
export const planRestore = (
  host: SessionHost,
  directory: string,
  changes: ReadonlyArray<FileChange>
): Effect.Effect<RestorePlan> =>
  Effect.gen(function*() {
    const undo = yield* loadUndo
    const byFile = Arr.groupBy(changes, ({ file }) => file)
    const looked = yield* Effect.forEach(Object.entries(byFile), ([file, each]) =>
      Effect.map(host.read(directory, file), (text) => ({ file, found: undone(text, each, undo) })))
    return {
      files: looked.flatMap(({ found }) =>
        found === undefined ? [] : [found]
      ),
      others: looked.flatMap(({ file, found }) => found === undefined ? [file] : [])
    }
  })

/** How many names are listed in a line. */
const mostNamed = 8

const wordsOf = ({ parts }: MessageWithParts): string =>
  parts.flatMap((part) => part.type === "text" && part.synthetic !== true ? [part.text] : []).join("\n")

/** What commands of the person's own had written before that prompt. */
const outputsOf = ({ parts }: MessageWithParts): ReadonlyArray<string> =>
  parts.flatMap((part) =>
    part.type === "text" && part.synthetic === true && part.text.startsWith(heardStart) ? [part.text] : []
  )

const listed = (names: ReadonlyArray<string>): string =>
  names.length <= mostNamed
    ? names.join(", ")
    : `${names.slice(0, mostNamed).join(", ")} and ${names.length - mostNamed} more`

const counted = (count: number): string => count === 1 ? "one file" : `${count} files`

/** Lists what a person has said, the latest first. */
export const listPrompts = ({ backend, model, touch }: Acting): Effect.Effect<void, BackendError> =>
  Effect.gen(function*() {
    const session = model.live?.tree.root.id
    if (session === undefined) {
      model.hint = "There is nothing to go back to yet."
      return
    }
    const prompts: Array<{ readonly value: string; readonly label: string }> = []
    yield* eachPage((page) => backend.sessions.messages(session, page), (messages) =>
      Effect.sync(() => {
        for (const message of messages) {
          const words = message.info.role === "user" && message.info.from === undefined ? wordsOf(message) : ""
          if (words.trim() !== "") prompts.push({ value: message.info.id, label: words.slice(0, 300) })
        }
      }))
    model.views.choose(
      "Go back to before a prompt. This session stays as it is",
      prompts.toReversed(),
      (id) => {
        model.request({ type: "askRewind", prompt: id as MessageID })
        touch()
      }
    )
  })

/** What the tools of the whole tree changed since a time, where they worked in the directory of the session. */
const sinceOf = Effect.fnUntraced(function*({ backend, model }: Acting, time: number) {
  const nodes = model.live?.tree.all.filter(({ info, isDeleted }) =>
    !isDeleted && (info === undefined || info.directory === model.facts.directory)
  ) ?? []
  const changes: Array<FileChange> = []
  const commands = new Set<string>()
  yield* Effect.forEach(nodes, ({ id }) =>
    eachPage((page) =>
      backend.sessions.messages(id, page), (messages) =>
      Effect.sync(() => {
        const found = changedSince(messages, time)
        for (const change of found.changes) {
          changes.push(change)
        }
        for (const command of found.commands) {
          commands.add(command)
        }
      })), { concurrency: 4 })
  return {
    changes: changes.toSorted((a, b) =>
      b.at - a.at
    ),
    commands: [...commands]
  }
})

const titleOf = ({ files, others }: RestorePlan, commands: ReadonlyArray<string>): string =>
  [
    `Tools changed ${counted(files.length + others.length)} since that prompt.`,
    ...(files.length === 0 ? [] : [`Can be restored: ${listed(files.map(({ file }) => file))}.`]),
    ...(others.length === 0
      ? []
      : [`Cannot be restored, because they differ from what tools left: ${listed(others)}.`]),
    ...(commands.length === 0
      ? []
      : [`What these commands changed stays: ${listed(commands.map((command) => command.split("\n", 1)[0] ?? ""))}.`])
  ].join(" ")

/** Asks whether files are restored, where tools changed some. */
export const askRewind = (acting: Acting, prompt: MessageID): Effect.Effect<void, BackendError> =>
  Effect.gen(function*() {
    const { backend, host, model, touch } = acting
    const session = model.live?.tree.root.id
    if (session === undefined) return
    // The prompt itself, and what comes before it.
    const message = yield* lastMessage(backend.sessions, session, ({ info }) => info.id <= prompt)
    if (message?.info.id !== prompt) return
    const { items: [previous] } = yield* backend.sessions.messages(session, { newest: 1, before: prompt })
    const base = {
      type: "rewind",
      message: previous?.info.id,
      text: wordsOf(message),
      outputs: outputsOf(message)
    } as const
    const { changes, commands } = yield* sinceOf(acting, message.info.time.created)
    if (changes.length === 0) {
      if (commands.length > 0) model.say(`What these commands changed stays: ${listed(commands)}`)
      return model.request({ ...base, files: [] })
    }
    const elsewhere = yield* filesElsewhere(acting)
    if (elsewhere !== undefined) {
      model.say(`Files stay as they are: they are on ${elsewhere}, and can be restored only there.`)
      return model.request({ ...base, files: [] })
    }
    const plan = yield* planRestore(host, model.facts.directory, changes)
    const { files } = plan
    model.views.confirm(titleOf(plan, commands), [
      { value: "stay", label: "Go back, and leave files as they are" },
      ...(files.length === 0 ? [] : [{ value: "restore", label: `Go back, and restore ${counted(files.length)}` }]),
      { value: "cancel", label: "Do not go back" }
    ], (answer) => {
      if (answer === "cancel") return
      model.request({ ...base, files: answer === "restore" ? files : [] })
    })
    touch()
  })

/** Continues in a copy up to a message, or in a new session; the prompt stands in the input again. */
export const goBack = (
  { backend, close, heard, host, model, open }: Acting,
  { files, message, outputs, text }: RewindRequest
): Effect.Effect<void, BackendError> =>
  Effect.gen(function*() {
    const session = model.live?.tree.root.id
    if (session === undefined) return
    if (message === undefined) yield* close
    else yield* open((yield* backend.sessions.fork(session, message)).id)
    model.say(`Back to before: ${text.split("\n", 1)[0]?.slice(0, 200) ?? ""}`)
    for (const { file, text: before } of files) {
      yield* host.write(model.facts.directory, file, before).pipe(
        Effect.zipRight(Effect.sync(() => model.say(`${before === undefined ? "Deleted" : "Restored"} ${file}`))),
        Effect.catchAll(({ message: why }) => Effect.sync(() => model.say(`${file} is not restored: ${why}`, "error")))
      )
    }
    heard.unshift(...outputs)
    model.input.set(text)
  })
