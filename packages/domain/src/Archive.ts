/** Defines how a whole tree of sessions is written as one JSON document, as a backup or to move it. */
import * as Schema from "effect/Schema"
import { SessionID } from "./Id.ts"
import { InboxRow } from "./InboxRow.ts"
import { Message } from "./Message.ts"
import { TaskRun } from "./Outcome.ts"
import { Part } from "./Part.ts"
import { SessionInfo, Todo } from "./SessionInfo.ts"

/** The format name in an archive. */
export const format = "skein-archive"

/** The version of new archives; all versions up to this one can be read. */
export const version = 1

/** A session with its own rows. */
export const ArchivedSession = Schema.Struct({
  info: SessionInfo,
  /** In the order of the conversation, which is that of their ids, with the parts of each in the same order. */
  messages: Schema.Array(Schema.Struct({ info: Message, parts: Schema.Array(Part) })),
  /** Unread inbox rows. */
  inbox: Schema.Array(InboxRow),
  todos: Schema.Array(Todo)
})
/** The type of an archived session. */
export interface ArchivedSession extends Schema.Schema.Type<typeof ArchivedSession> {}

/** A tree of sessions: the root first, and each session before those below it. */
export const Archive = Schema.Struct({
  format: Schema.Literal(format),
  version: Schema.Literal(version),
  /** When it was written, in milliseconds since 1970. */
  exported: Schema.Number,
  root: SessionID,
  sessions: Schema.NonEmptyArray(ArchivedSession),
  /** The runs of all tasks of the tree. */
  runs: Schema.Array(TaskRun)
})
/** The type of an archive. */
export interface Archive extends Schema.Schema.Type<typeof Archive> {}
