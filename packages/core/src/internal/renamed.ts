/** Gives the rows of a conversation other ids, in every field that refers to another row. Texts stay as they are. */
import type { ByPrefix, Ids, MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { TaskRun } from "@skein/domain/Outcome"
import type { MessageWithParts, Part } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type * as Context from "effect/Context"
import { flattened } from "../Nesting.ts"
import type { Write } from "../Write.ts"

/** The new id of each old one. */
export interface Names {
  readonly session: (id: SessionID) => SessionID
  readonly message: (id: MessageID) => MessageID
  readonly part: (id: PartID) => PartID
  readonly run: (id: RunID) => RunID
  /** Renames ids in tool metadata, such as the session of a task. Unknown ids stay. */
  readonly metadata?: (text: string) => string
}

const same = <A>(id: A): A => id

/** Keeps every id. */
export const unchanged: Names = { session: same, message: same, part: same, run: same }

/**
 * Maps every id to a new one, always the same. New ids ascend in the order of the lookups. A part that nothing refers to is
 * looked up once, and so forgotten: a conversation may have more of them than memory can hold.
 */
export const anew = (ids: Context.Tag.Service<typeof Ids>, now: number, named: ReadonlySet<PartID>): Names => {
  const naming = <Prefix extends keyof ByPrefix>(prefix: Prefix, isNamed?: (id: ByPrefix[Prefix]) => boolean) => {
    const known = new Map<string, ByPrefix[Prefix]>()
    return (id: ByPrefix[Prefix]): ByPrefix[Prefix] => {
      const found = known.get(id) ?? ids.unsafeMake(prefix, now)
      if (isNamed?.(id) !== false) known.set(id, found)
      return found
    }
  }
  return {
    session: naming("ses"),
    message: naming("msg"),
    part: naming("prt", (id) => named.has(id)),
    run: naming("run")
  }
}

/** A session's data. */
export const renameSession = (names: Names, session: SessionInfo): SessionInfo => {
  // Work that was in progress at the origin does not continue here.
  const { asking: _, turn, ...info } = session
  return {
    ...info,
    id: names.session(info.id),
    rootID: names.session(info.rootID),
    ...(info.parentID === undefined ? {} : { parentID: names.session(info.parentID) }),
    ...(info.summary === undefined ? {} : { summary: { ...info.summary, until: names.message(info.summary.until) } }),
    ...(turn?.ended === undefined
      ? {}
      : { turn: { ...turn, ...(turn.first === undefined ? {} : { first: names.message(turn.first) }) } })
  }
}

const renameValue = (rename: (text: string) => string, value: unknown): unknown => {
  if (typeof value === "string") return rename(value)
  if (Array.isArray(value)) return value.map((each) => renameValue(rename, each))
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, renameValue(rename, each)]))
    : value
}

const renameMetadata = (names: Names, part: Part): Part => {
  const { metadata: rename } = names
  if (rename === undefined || part.type !== "tool" || part.state.status === "pending") return part
  const { metadata } = part.state
  return metadata === undefined ? part : {
    ...part,
    state: { ...part.state, metadata: renameValue(rename, flattened(metadata)) as typeof metadata }
  }
}

/**
 * Models know a call of a copy by the id of the original, so that the provider's cache of the conversation is read. An
 * archive may name an id twice: the second call gets its own.
 */
const withSentID = (part: Part, own: PartID, taken: Set<string>): Part => {
  if (part.type !== "tool") return part
  const { sentAs = part.id, ...rest } = part
  const sent = taken.has(sentAs) ? own : sentAs
  taken.add(sent)
  return sent === own ? rest : { ...rest, sentAs: sent }
}

/** Renames the messages of one session, in their order: ids determine it. */
export const messageRenamer = (names: Names): (message: MessageWithParts) => MessageWithParts => {
  const taken = new Set<string>()
  return ({ info, parts }) => {
    const messageID = names.message(info.id)
    const sessionID = names.session(info.sessionID)
    return {
      info: info.role === "user"
        ? { ...info, id: messageID, sessionID }
        : { ...info, id: messageID, sessionID, parentID: names.message(info.parentID) },
      parts: parts.map((part) => {
        const id = names.part(part.id)
        return {
          ...renameMetadata(names, withSentID(part, id, taken)),
          ...(part.type === "compaction" && part.keptFrom !== undefined
            ? { keptFrom: names.message(part.keptFrom) }
            : {}),
          id,
          sessionID,
          messageID
        }
      })
    }
  }
}

/** The rows of a message. */
export const messageWrites = ({ info, parts }: MessageWithParts): ReadonlyArray<Write> => [
  { _tag: "Message", info },
  ...parts.map((part): Write => ({ _tag: "Part", part }))
]

/** A run of a task. */
export const renameRun = (names: Names, run: TaskRun): TaskRun => {
  const { outcome, partID } = run
  return {
    ...run,
    id: names.run(run.id),
    taskID: names.session(run.taskID),
    parentID: names.session(run.parentID),
    rootID: names.session(run.rootID),
    ...(partID === undefined ? {} : { partID: names.part(partID) }),
    ...(outcome === undefined
      ? {}
      : { outcome: { ...outcome, taskID: names.session(outcome.taskID), runID: names.run(outcome.runID) } })
  }
}

/** An inbox row. */
export const renameRow = (names: Names, row: InboxRow): InboxRow => ({
  ...row,
  id: names.message(row.id),
  sessionID: names.session(row.sessionID),
  ...(row.runID === undefined ? {} : { runID: names.run(row.runID) })
})
