/**
 * Defines inbox rows: prompts, messages and notifications that wait until a turn takes them; and decides whether a
 * session has something left to do.
 */
import * as Schema from "effect/Schema"
import { MessageID, RunID, SessionID } from "./Id.ts"
import { ModelRef } from "./Model.ts"
import { PartInput } from "./Part.ts"
import type { SessionInfo } from "./SessionInfo.ts"

/**
 * A row that a session reads at its next step. `id` is the id of the message that it becomes, unless there is a younger
 * message by then. A `note` needs no answer: it waits until something else starts the loop.
 */
export const InboxRow = Schema.Struct({
  id: MessageID,
  sessionID: SessionID,
  kind: Schema.Literal("prompt", "steer", "notification", "note"),
  /** The run that this reports: at most one row per run in a session's life. */
  runID: Schema.optional(RunID),
  parts: Schema.Array(PartInput),
  /** Waits until the turn has ended, and begins one of its own; nothing but that starts it by itself. */
  after: Schema.optional(Schema.Literal("turn")),
  /** Set if an agent wrote it, and not a person. */
  from: Schema.optional(Schema.Literal("agent")),
  /**
   * The stops that came before it: of its session and those above, or, for a steer, of those above alone. After a later
   * one it starts nothing by itself.
   */
  stops: Schema.optional(Schema.Number),
  agent: Schema.optional(Schema.String),
  model: Schema.optional(ModelRef),
  variant: Schema.optional(Schema.String),
  system: Schema.optional(Schema.String),
  tools: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Boolean })),
  time: Schema.Struct({ created: Schema.Number })
})
/** The type of an inbox row. */
export interface InboxRow extends Schema.Schema.Type<typeof InboxRow> {}

/** A person's prompt that no agent has read yet. */
export const WaitingPrompt = Schema.Struct({
  id: MessageID,
  /** The beginning of its text. */
  text: Schema.String,
  after: InboxRow.fields.after
})
/** The type of a waiting prompt. */
export interface WaitingPrompt extends Schema.Schema.Type<typeof WaitingPrompt> {}

/** How much of a waiting prompt is shown, in characters. */
const told = 1_000

/** What a person wrote in a row. */
export const textOfRow = ({ parts }: Pick<InboxRow, "parts">): string =>
  parts.flatMap((part) => part.type === "text" && part.synthetic !== true ? [part.text] : []).join("\n\n")

/** Whether a row is a prompt of a person. */
export const isPersonPrompt = ({ from, kind }: Pick<InboxRow, "from" | "kind">): boolean =>
  kind === "prompt" && from === undefined

/** A row as people see it. */
export const waitingOf = (row: InboxRow): WaitingPrompt => ({
  id: row.id,
  text: textOfRow(row).slice(0, told).toWellFormed(),
  ...(row.after === undefined ? {} : { after: row.after })
})

/** Whether a turn has no end. */
export const hasOpenTurn = ({ turn }: Pick<SessionInfo, "turn">): boolean =>
  turn !== undefined && turn.ended === undefined

/** How often a session was stopped, directly and from above. */
export const stopsOf = (
  find: (id: SessionID) => Pick<SessionInfo, "parentID" | "stops"> | undefined,
  id: SessionID | undefined
): number => {
  const info = id === undefined ? undefined : find(id)
  return info === undefined ? 0 : (info.stops ?? 0) + stopsOf(find, info.parentID)
}

/** The stops that hold for inbox rows: those of the session and those above, and those above alone. */
export interface Stops {
  readonly all: number
  readonly above: number
}

/**
 * The stops that hold for a row of this kind. A task that ends early is stopped as well, and a message that it did not
 * read starts its next run. So only stops from above hold for a steer.
 */
export const stopsFor = (kind: InboxRow["kind"], { above, all }: Stops): number => kind === "steer" ? above : all

const starting = new Set<InboxRow["kind"]>(["prompt", "steer", "notification"])

/** Whether a stop has come since something began, or was asked for: then it is inert. The order is counted, because clocks cannot tell it. */
export const isInert = ({ stops = 0 }: { readonly stops?: number | undefined }, now: number): boolean => stops < now

/**
 * Whether an inbox row starts the loop after a crash, as it would have in the process that died. What was waiting at a
 * stop does not, whatever it is: it waits for the next prompt.
 */
export const startsLoop = (row: Pick<InboxRow, "kind" | "stops">, stops: Stops): boolean =>
  starting.has(row.kind) && !isInert(row, stopsFor(row.kind, stops))
