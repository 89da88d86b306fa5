/** `skein sessions`: lists, shows, resumes, stops, changes and deletes sessions. */
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
import { formatCost, formatCount } from "@skein/view/Numbers"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { command, type CommandError, group, type Input } from "../CommandSpec.ts"
import { UsageError } from "../ExitCode.ts"
import { readable, serverBackend, warnUnreadable, withSession } from "../internal/attach/database.ts"
import { directoryFlags, formatFlags, listingFlags, placeFlags, promptFlags } from "../internal/flags.ts"
import { among, sessionOf } from "../internal/ids.ts"
import { directoryOf, projectOf } from "../internal/place.ts"
import { formatTime, printList, printResult, tell, usageText } from "../internal/print.ts"
import {
  awaitedHost,
  continueText,
  findHolder,
  holderText,
  howLeft,
  interrupted,
  isAtServer,
  whereOf
} from "../internal/where.ts"
import { Stdio } from "../Stdio.ts"
import { exportArchive, importArchive } from "./archives.ts"
import { askLines } from "./asks.ts"
import { prune } from "./prune.ts"

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

const tokensOf = ({ usage }: SessionInfo): string =>
  formatCount(usage.subtree.tokens.input + usage.subtree.tokens.output)

const list = command({
  name: "list",
  summary: "Lists the sessions of this project, newest first",
  flags: {
    ...listingFlags,
    all: { type: "switch", description: "Lists the sessions of all projects" },
    limit: { type: "count", description: "The maximum number; 50 by default" },
    ...directoryFlags,
    ...placeFlags
  },
  run: ({ flags }) =>
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
      const isShared = isAtServer(wheres)
      const items = rows.map((info, at) => ({ info, where: wheres[at] }))
      yield* printList(flags, {
        items,
        json: items.map(({ info, where }) => ({
          ...info,
          ...(left.has(info.rootID) ? { interrupted: true } : {}),
          ...(isShared && where?.holder !== undefined ? { holder: where.holder } : {})
        })),
        columns: {
          SESSION: ({ info }) => info.id,
          CHANGED: ({ info }) => formatTime(info.time.updated),
          AGENT: ({ info }) => info.agent,
          STEPS: ({ info }) => String(info.usage.subtree.steps),
          TOKENS: ({ info }) => tokensOf(info),
          COST: ({ info }) => formatCost(info.usage.subtree.cost),
          TITLE: ({ info }) => `${"  ".repeat(info.depth)}${info.title}`,
          SUMMARY: rows.some(({ summary }) => summary !== undefined) &&
            (({ info }) => info.summary?.text.split("\n", 1)[0]),
          STATUS: isShared && (({ where }) => where?.status),
          SERVER: isShared && (({ where }) => where?.holder?.url)
        },
        empty: flags.all
          ? "There are no sessions yet. `skein run` begins one."
          : `There are no sessions in ${
            escapeLine(projectID)
          } yet. \`skein run\` begins one; \`skein sessions --all\` lists those of other projects.`
      })
      if (flags.format === "json") return
      const { err } = yield* Stdio
      for (const id of left) err(yield* leftText(id))
    }).pipe(Effect.provide(NodeOwner.layer), Effect.provide(readable(flags)))
})

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

const show = command({
  name: "show",
  summary: "Shows the conversation of a session",
  operands: "ID",
  flags: {
    ...formatFlags,
    full: { type: "switch", description: "Shows the whole arguments and outputs of calls" },
    ...placeFlags
  },
  run: ({ flags, operands: [id = ""] }) =>
    Effect.gen(function*() {
      const store = yield* SessionStorage
      const stdio = yield* Stdio
      const session = yield* sessionOf(id)
      const children = yield* store.sessions({ parentID: session.id })
      const isInterrupted = (yield* interrupted([session])).has(session.rootID)
      const holder = yield* findHolder(session)
      // A server tells its own questions.
      const server = yield* serverBackend
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
        return
      }
      stdio.out(`${escapeLine(session.title)}\n${session.id} in ${escapeLine(session.directory)}\n\n`)
      if (session.parentID === undefined) stdio.out(`mode: ${modeOf(session)}\n\n`)
      stdio.out(
        `used: ${usageText(session.usage.subtree)}${children.rows.length === 0 ? "" : ", with all below it"}\n\n`
      )
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
    }).pipe(Effect.provide(NodeOwner.layer), Effect.provide(readable(flags)))
})

const resume = command({
  name: "resume",
  summary: "Continues a session, as `skein run --session ID` does",
  details: "Without a prompt, it continues interrupted turns and tasks.",
  operands: "ID [prompt…]",
  flags: promptFlags,
  load: () => import("../internal/run/execute.ts").then(({ resumeSession }) => resumeSession)
})

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

const stop = command({
  name: "stop",
  summary: "Stops what runs in a session, with everything below it",
  details:
    "What it did so far is kept; `skein sessions resume ID` continues it. Says so if nothing was running.\nAlso stops what a server of this database or another terminal works on. --attach names another server.\n`skein tasks stop` stops one task.",
  operands: "ID",
  flags: { ...formatFlags, ...placeFlags },
  run: ({ flags, operands: [given = ""] }) =>
    withSession(flags, given, (session, { sessions: all, watch }) =>
      Effect.gen(function*() {
        const { id } = session
        const result = foundIn(yield* watch.snapshot(id), id)
        // Also if nothing was found: something may have begun meanwhile.
        yield* all.stop(id, "the user")
        yield* printResult(flags, { sessionID: id, found: result }, `${escapeLine(wordsFor(result, session))}\n`)
      }))
})

/** Does something with a session, and prints the result as JSON or in words. */
const telling = <A>(
  use: (sessions: Sessions, id: SessionID) => Effect.Effect<A, CommandError>,
  words: (result: A) => string
) => ({
  operands: "ID",
  flags: { ...formatFlags, ...placeFlags },
  run: ({ flags, operands: [given = ""] }: Input<typeof formatFlags & typeof placeFlags>) =>
    withSession(
      flags,
      given,
      ({ id }, { sessions: all }) =>
        Effect.flatMap(use(all, id), (result) => printResult(flags, result, `${words(result)}\n`))
    )
})

const summarize = command({
  name: "summarize",
  summary: "Has a model summarise a session, and stores the summary",
  details:
    "Sends one request to the model of agent.summary, else to small_model, else to the session's model.\n`summaries` in skein.json does it after each turn that changed files.",
  ...telling((all, id) => all.summarize(id), ({ text }) => escapeText(text))
})

const compact = command({
  name: "compact",
  summary: "Has a model summarise a long conversation, so that less of it is sent",
  details: "All messages stay stored. Skein does this automatically when a conversation nears its model's limit.",
  ...telling(
    (all, id) => all.compact(id),
    ({ tokens: { after, before } }) =>
      `About ${formatCount(before)} tokens of conversation became ${formatCount(after)}.`
  )
})

const rename = command({
  name: "rename",
  summary: "Renames a session",
  operands: "ID TITLE…",
  flags: placeFlags,
  run: ({ flags, operands: [given = "", ...words] }) => {
    const title = words.join(" ")
    if (title.length > longestTitle) {
      return new UsageError({
        message: `A title has at most ${longestTitle} characters, and this one has ${title.length}.`
      })
    }
    return withSession(
      flags,
      given,
      ({ id }, { sessions: all }) => Effect.zipRight(all.rename(id, title), tell(`Renamed: ${id}  ${title}`))
    )
  }
})

const mode = command({
  name: "mode",
  summary: "Changes how much a session may do without a question, with everything below it",
  details:
    "plan: changes nothing but plan files. ask: asks before edits. edits: edits the project without asking.\nauto: asks nothing, and denies what only a person may allow.",
  operands: "ID plan|ask|edits|auto",
  flags: placeFlags,
  run: ({ flags, operands: [given = "", named = ""] }) =>
    Schema.is(Mode)(named)
      ? withSession(flags, given, ({ id }, { sessions: all }) =>
        Effect.zipRight(all.setMode(id, named), tell(`Mode of ${id}: ${named}`)))
      : new UsageError({
        message: `There is no mode ${JSON.stringify(named)}. Modes: ${Mode.literals.join(", ")}.`
      })
})

const remove = command({
  name: "delete",
  summary: "Deletes a session and all sessions below it",
  operands: "ID",
  flags: placeFlags,
  run: ({ flags, operands: [given = ""] }) =>
    withSession(
      flags,
      given,
      ({ id, title }, { sessions: all }) =>
        Effect.zipRight(all.remove(id), tell(`Deleted, with all sessions below it: ${id}  ${title}`))
    )
})

/** The id of the message; the session refuses one that does not exist. */
const messageOf = Effect.fnUntraced(function*(all: Sessions, id: SessionID, given: string) {
  const ids: Array<string> = []
  yield* eachPage((page) => all.messages(id, page), (messages) =>
    Effect.sync(() => {
      for (const { info } of messages) if (info.id.startsWith(given)) ids.push(info.id)
    }))
  return ((yield* among(given, ids)) ?? given) as MessageID
})

const fork = command({
  name: "fork",
  summary: "Starts a new session with a copy of a conversation",
  details: "The copy has the same agent, model, rules and limits, and no usage. Sessions of subagents are not copied.",
  operands: "ID",
  flags: {
    at: {
      type: "text",
      value: "MESSAGE",
      description: "The last message to copy; `skein sessions show ID --format json` lists the ids"
    },
    ...placeFlags
  },
  run: ({ flags, operands: [given = ""] }) =>
    withSession(flags, given, ({ id }, { sessions: all }) =>
      Effect.gen(function*() {
        const { out } = yield* Stdio
        const last = flags.at === undefined ? undefined : yield* messageOf(all, id, flags.at)
        out(`${(yield* all.fork(id, last)).id}\n`)
      }))
})

/** Lists, shows, resumes and stops sessions. */
export const sessions = group([
  list,
  show,
  resume,
  stop,
  summarize,
  compact,
  rename,
  mode,
  fork,
  exportArchive,
  importArchive,
  remove,
  prune
])
