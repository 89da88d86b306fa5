/** What `skein sessions` does. */
import { Backend } from "@skein/backend/Backend"
import { allPages, eachPage, type Sessions } from "@skein/backend/Sessions"
import { unanswered } from "@skein/core/Control"
import { eachMessagePage, type MessagePage, SessionStorage } from "@skein/core/SessionStorage"
import { type Account, bounds, formatAmount } from "@skein/domain/Budget"
import type { MessageID, SessionID } from "@skein/domain/Id"
import { hasOpenTurn } from "@skein/domain/InboxRow"
import { Mode, modeOf } from "@skein/domain/Mode"
import type { MessageWithParts, Part } from "@skein/domain/Part"
import { isAtRest, type SessionInfo } from "@skein/domain/SessionInfo"
import type { TreeSnapshot } from "@skein/domain/TreeSnapshot"
import { longestTitle } from "@skein/domain/Typed"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { callLine } from "@skein/tui/CallOutcome"
import { escapeLine, escapeText } from "@skein/tui/Escape"
import { formatCount } from "@skein/view/Numbers"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { platform, readableStorage, storage } from "../app.ts"
import type { AttachFlags } from "../attach/attach.ts"
import { readable, withSession } from "../attach/database.ts"
import { among, sessionOf } from "../ids.ts"
import { directoryOf, projectOf } from "../place.ts"
import { askLines } from "./asks.ts"
import { formatTime, printList } from "./print.ts"
import {
  awaitedHost,
  continueText,
  findHolder,
  holderText,
  howLeft,
  interrupted,
  isAtServer,
  whereOf
} from "./where.ts"

const onHost = (host: string | undefined): string =>
  host === undefined ? "another host" : `the host ${escapeLine(host)}`

/** Lines about that; none if its steps are not kept. */
const workspaceLines = ({ directory, host, workspace }: SessionInfo): ReadonlyArray<string> => {
  if (workspace === undefined) return []
  const { failure, from, remote } = workspace
  return [
    failure === undefined
      ? `steps kept in ${escapeLine(remote)}`
      : `last step not kept in ${escapeLine(remote)}: ${escapeLine(failure)}`,
    ...(from === undefined ? [] : [
      `works in ${escapeLine(directory)} on ${onHost(host)} since ${formatTime(from.at)}; before that in ${
        escapeLine(from.directory)
      } on ${onHost(from.host)}, where its files are left as they were`
    ])
  ]
}

/** The database, with the services that it needs. */
export const database = (db: string | undefined) => Layer.provideMerge(storage, platform({ database: db }))

/** The same for commands that only read. */
export const readableDatabase = (db: string | undefined) =>
  Layer.provideMerge(readableStorage(db), platform({ database: db }))

/** Reports what could not be read. */
export const warnUnreadable = (unreadable: ReadonlyArray<{ readonly id: string; readonly reason: string }>) =>
  Effect.map(Stdio, (stdio) => {
    for (const { id, reason } of unreadable) stdio.err(`skein: ${escapeLine(`${id} cannot be read: ${reason}`)}`)
  })

const rowOf = ({ agent, depth, id, summary, time, title, usage }: SessionInfo) => [
  id,
  formatTime(time.updated),
  agent,
  String(usage.subtree.steps),
  formatCount(usage.subtree.tokens.input + usage.subtree.tokens.output),
  `${"  ".repeat(depth)}${title}`,
  summary?.text.split("\n", 1)[0]
]

/** Lists sessions. */
export const listSessions = ({ flags }: {
  readonly flags: AttachFlags & {
    readonly format: "default" | "json"
    readonly full: boolean
    readonly all: boolean
    readonly limit: number | undefined
    readonly dir: string | undefined
  }
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const store = yield* SessionStorage
    const projectID = yield* Effect.flatMap(directoryOf(flags.dir), projectOf)
    const { rows, unreadable } = yield* store.sessions({
      roots: true,
      limit: flags.limit ?? 50,
      ...(flags.all ? {} : { projectID })
    })
    yield* warnUnreadable(unreadable)
    const left = yield* interrupted(rows)
    const wheres = yield* whereOf(rows, left, flags.attach?.split(",")[0])
    const isSummarized = rows.some(({ summary }) => summary !== undefined)
    const isShared = isAtServer(wheres)
    const code = yield* printList({
      format: flags.format,
      full: flags.full,
      json: rows.map((info, at) => ({
        ...info,
        ...(left.has(info.rootID) ? { interrupted: true } : {}),
        ...(isShared && wheres[at]?.holder !== undefined ? { holder: wheres[at].holder } : {})
      })),
      head: [
        ...["SESSION", "CHANGED", "AGENT", "STEPS", "TOKENS", "TITLE"],
        ...(isSummarized ? ["SUMMARY"] : []),
        ...(isShared ? ["STATUS", "SERVER"] : [])
      ],
      rows: rows.map((row, at) => [
        ...(isSummarized ? rowOf(row) : rowOf(row).slice(0, -1)),
        ...(isShared ? [wheres[at]?.status, wheres[at]?.holder?.url] : [])
      ]),
      empty: flags.all
        ? "There are no sessions yet. `skein run` begins one."
        : `There are no sessions in ${
          escapeLine(projectID)
        } yet. \`skein run\` begins one; \`skein sessions --all\` lists those of other projects.`
    })
    if (flags.format === "default") {
      const stdio = yield* Stdio
      for (const id of left) stdio.err(yield* leftText(id))
    }
    return code
  }).pipe(Effect.provide(NodeOwner.layer), Effect.provide(readable(flags)))

const leftText = (rootID: SessionID) =>
  Effect.map(
    Effect.all([howLeft(rootID), awaitedHost(rootID)]),
    ([why, host]) => `${rootID} was interrupted: ${why} ${continueText(rootID, host)}`
  )

/** The whole input and result of a call. */
const wholeCall = ({ state, tool }: Extract<Part, { readonly type: "tool" }>): string => {
  const input = typeof state.input === "string" ? state.input : JSON.stringify(state.input, undefined, 2)
  const result = state.status === "error"
    ? `failed: ${state.error.message}`
    : state.status === "completed"
    ? state.output
    : state.status
  const indented = (text: string) => escapeText(text.trimEnd()).replaceAll("\n", "\n  ")
  return `> ${escapeLine(tool)} ${indented(input)}\n  ${indented(result)}\n`
}

const partText = (full: boolean) => (part: Part): string => {
  switch (part.type) {
    case "text":
      return `${part.partial === true ? "(cut off) " : ""}${escapeText(part.text.trim())}\n`
    case "file":
      return `[${escapeLine(part.filename ?? part.mime)}]\n`
    case "compaction":
      return "(what was said before is sent as this summary)\n"
    case "subtask":
      return `> task description=${escapeLine(part.description)}\n`
    case "tool": {
      if (full) return wholeCall(part)
      const { state } = part
      const end = state.status === "error"
        ? `\n  failed: ${escapeText(state.error.message.slice(0, 300)).trim().replaceAll("\n", "\n  ")}`
        : ""
      return `> ${callLine(part.tool, state.input)}${end}\n`
    }
    default:
      return ""
  }
}

const messageText = (full: boolean) => ({ info, parts }: MessageWithParts): string => {
  const head = info.role === "user" ? "user" : `${info.agent} (${info.providerID}/${info.modelID})`
  const error = info.role === "assistant" && info.error !== undefined ? `! ${escapeText(info.error.message)}\n` : ""
  return `--- ${formatTime(info.time.created)} ${escapeLine(head)}\n${parts.map(partText(full)).join("")}${error}`
}

/** How much of a budget is used: each amount with its limit. */
const budgetText = ({ limit, spent }: Account): string =>
  bounds.flatMap((bound) => {
    const most = limit[bound]
    return most === undefined ? [] : [`${spent[bound]} of ${formatAmount(bound, most)} used`]
  }).join(", ")

const indented = (value: unknown): string => JSON.stringify(value, undefined, 2)

/** Shows the messages of a session, a page at a time and no faster than they are read. */
const eachMessage = <E, R>(id: SessionID, show: (page: MessagePage) => Effect.Effect<void, E, R>) =>
  Effect.flatMap(Stdio, ({ flush }) => eachMessagePage(id, (page) => Effect.zipRight(show(page), flush)))

/** Shows one. */
export const showSession = ({ flags, operands: [id = ""] }: {
  readonly flags: AttachFlags & {
    readonly format: "default" | "json"
    readonly full: boolean
  }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const store = yield* SessionStorage
    const stdio = yield* Stdio
    const session = yield* sessionOf(id)
    const children = yield* store.sessions({ parentID: session.id })
    const isInterrupted = (yield* interrupted([session])).has(session.rootID)
    const holder = yield* findHolder(session)
    // A server tells its own questions.
    const server = Option.getOrUndefined(yield* Effect.serviceOption(Backend))
    const asks = server !== undefined
      ? yield* allPages((page) => server.asks.pending(session.rootID, page))
      : isInterrupted || holder !== undefined
      ? yield* unanswered(session.rootID)
      : []
    if (flags.format === "json") {
      const head = {
        session,
        ...(holder === undefined ? {} : { holder }),
        ...(asks.length === 0 ? {} : { asks })
      }
      const rest = { children: children.rows, ...(isInterrupted ? { interrupted: true } : {}) }
      // The text of the whole value, with a page of the messages in memory.
      stdio.out(`${indented(head).slice(0, -2)},\n  "messages": [`)
      let isFirst = true
      yield* eachMessage(session.id, ({ unreadable, rows }) => {
        for (const row of rows) {
          stdio.out(`${isFirst ? "" : ","}\n${indented(row).replaceAll(/^/gm, "    ")}`)
          isFirst = false
        }
        return warnUnreadable(unreadable)
      })
      stdio.out(`${isFirst ? "" : "\n  "}],\n${indented(rest).slice(2)}\n`)
      yield* warnUnreadable(children.unreadable)
      return ExitCode.done
    }
    stdio.out(`${escapeLine(session.title)}\n${session.id} in ${escapeLine(session.directory)}\n\n`)
    if (session.parentID === undefined) stdio.out(`mode: ${modeOf(session)}\n\n`)
    if (holder !== undefined) stdio.out(`held by: ${holderText(holder)}\n\n`)
    for (const line of workspaceLines(session)) stdio.out(`${line}\n\n`)
    if (isInterrupted) stdio.out(`${yield* leftText(session.rootID)}\n\n`)
    const { budget, summary } = session
    if (budget !== undefined) stdio.out(`budget: ${budgetText(budget)}\n\n`)
    if (summary !== undefined) stdio.out(`${escapeText(summary.text)}\n(summary of ${formatTime(summary.time)})\n\n`)
    let isFirst = true
    yield* eachMessage(session.id, ({ rows, unreadable }) => {
      for (const row of rows) {
        stdio.out(`${isFirst ? "" : "\n"}${messageText(flags.full)(row)}`)
        isFirst = false
      }
      return warnUnreadable(unreadable)
    })
    yield* warnUnreadable(children.unreadable)
    for (const ask of asks) stdio.out(`\n${askLines(ask, flags.full, stdio).join("\n")}\n`)
    for (const child of children.rows) stdio.out(`\nsubagent ${child.id}  ${escapeLine(child.title)}\n`)
    return ExitCode.done
  }).pipe(Effect.provide(NodeOwner.layer), Effect.provide(readable(flags)))

/** Does something with a session, and prints the result as JSON or in words. */
const telling = <A>(
  use: (service: Sessions, id: SessionID) => Effect.Effect<A, CommandError>,
  words: (result: A) => string
) =>
({ flags, operands: [id = ""] }: {
  readonly flags: AttachFlags & { readonly format: "default" | "json" }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  withSession(flags, id, (session) =>
    Effect.gen(function*() {
      const stdio = yield* Stdio
      const { sessions } = yield* Backend
      const result = yield* use(sessions, session.id)
      stdio.out(flags.format === "json" ? `${JSON.stringify(result, undefined, 2)}\n` : `${words(result)}\n`)
      return ExitCode.done
    }))

/** Has a model summarise one. */
export const summarizeSession = telling((service, id) => service.summarize(id), ({ text }) => escapeText(text))

/** Has a model compact a conversation. */
export const compactSession = telling(
  (service, id) => service.compact(id),
  ({ tokens: { after, before } }) => `About ${formatCount(before)} tokens of conversation became ${formatCount(after)}.`
)

/** Reports what was done. */
const done = (line: string) =>
  Effect.map(Stdio, (stdio) => {
    stdio.err(escapeLine(line))
    return ExitCode.done
  })

/** Renames one. */
export const renameSession = ({ flags, operands: [id = "", ...title] }: {
  readonly flags: AttachFlags
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> => {
  const { length } = title.join(" ")
  if (length > longestTitle) {
    return new UsageError({ message: `A title has at most ${longestTitle} characters, and this one has ${length}.` })
  }
  return withSession(
    flags,
    id,
    (session) =>
      Effect.flatMap(Backend, ({ sessions }) => sessions.rename(session.id, title.join(" "))).pipe(
        Effect.zipRight(done(`Renamed: ${session.id}  ${title.join(" ")}`))
      )
  )
}

/** Changes the mode of its tree. */
export const setMode = ({ flags, operands: [id = "", mode = ""] }: {
  readonly flags: AttachFlags
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> => {
  if (!Schema.is(Mode)(mode)) {
    return new UsageError({ message: `There is no mode ${JSON.stringify(mode)}. Modes: ${Mode.literals.join(", ")}.` })
  }
  return withSession(
    flags,
    id,
    (session) =>
      Effect.flatMap(Backend, ({ sessions }) => sessions.setMode(session.id, mode)).pipe(
        Effect.zipRight(done(`Mode of ${session.id}: ${mode}`))
      )
  )
}

/** The id of the message; the session refuses one that does not exist. */
const messageOf = Effect.fnUntraced(function*(id: SessionID, given: string) {
  const { sessions } = yield* Backend
  const ids: Array<string> = []
  yield* eachPage((page) => sessions.messages(id, page), (messages) =>
    Effect.sync(() => {
      for (const { info } of messages) if (info.id.startsWith(given)) ids.push(info.id)
    }))
  return ((yield* among(given, ids)) ?? given) as MessageID
})

/** Copies one, and prints the id of the copy. */
export const forkSession = ({ flags, operands: [id = ""] }: {
  readonly flags: AttachFlags & { readonly at: string | undefined }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  withSession(flags, id, (session) =>
    Effect.gen(function*() {
      const stdio = yield* Stdio
      const { sessions } = yield* Backend
      const last = flags.at === undefined ? undefined : yield* messageOf(session.id, flags.at)
      stdio.out(`${(yield* sessions.fork(session.id, last)).id}\n`)
      return ExitCode.done
    }))

/** Deletes one. */
export const deleteSession = ({ flags, operands: [id = ""] }: {
  readonly flags: AttachFlags
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  withSession(flags, id, (session) =>
    Effect.flatMap(Backend, ({ sessions }) => sessions.remove(session.id)).pipe(
      Effect.zipRight(done(`Deleted, with all sessions below it: ${session.id}  ${session.title}`))
    ))

/** What a stop found: work, what a process that is gone left of it, or neither. */
type Found = "running" | "interrupted" | "idle"

/** A session and everything below it. */
const partOf = ({ sessions }: TreeSnapshot, top: SessionID) => {
  const ids = new Set<string>([top])
  // Each session comes before those below it.
  for (const { id, parentID } of sessions) if (parentID !== undefined && ids.has(parentID)) ids.add(id)
  return sessions.filter(({ id }) => ids.has(id))
}

const foundIn = (tree: TreeSnapshot, top: SessionID): Found => {
  const sessions = partOf(tree, top)
  if (sessions.some(({ status }) => !isAtRest(status))) return "running"
  const ids = new Set(sessions.map(({ id }) => id))
  const hasRun = tree.tasks.some(({ state, taskID }) => state !== "settled" && ids.has(taskID))
  return hasRun || sessions.some(hasOpenTurn) ? "interrupted" : "idle"
}

const wordsFor = (found: Found, { id, title }: SessionInfo): string => {
  const named = `${id}  ${title}`
  switch (found) {
    case "running":
      return `Stopped, with everything below it: ${named}`
    case "interrupted":
      return `No process worked on it any longer. What was left unfinished is stopped, also commands, and does not continue by itself: ${named}`
    case "idle":
      return `Nothing was running: ${named}`
  }
}

/** Stops one. */
export const stopSession = ({ flags, operands: [given = ""] }: {
  readonly flags: AttachFlags & { readonly format: "default" | "json" }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  withSession(flags, given, (session) =>
    Effect.gen(function*() {
      const stdio = yield* Stdio
      const { sessions, watch } = yield* Backend
      const { id } = session
      const tree = yield* watch.snapshot(id)
      const found = foundIn(tree, id)
      // Also if nothing was found: something may have begun meanwhile.
      yield* sessions.stop(id, "the user")
      stdio.out(
        flags.format === "json"
          ? `${JSON.stringify({ sessionID: id, found }, undefined, 2)}\n`
          : `${escapeLine(wordsFor(found, session))}\n`
      )
      return ExitCode.done
    }))
