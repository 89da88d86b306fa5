/**
 * Decides which event each stored row implies: nothing is stored without being published, and nothing published without
 * being stored.
 */
import type { EventProperties } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { Entry, EventSource, Fact, RowType } from "../Write.ts"

/** An event that a row implies. */
export type RowEvent = {
  readonly [T in RowType]: {
    readonly _tag: "RowEvent"
    readonly source: EventSource
    readonly type: T
    readonly properties: EventProperties<T>
  }
}[RowType]

const rowEvent = <T extends RowType>(source: EventSource, type: T, properties: EventProperties<T>): RowEvent =>
  ({ _tag: "RowEvent", source, type, properties }) as RowEvent

/**
 * The events of a commit, in the order of its entries. Messages, parts and todos of a session that the same commit
 * creates have none of their own: `session.created` covers them. Dies if a row belongs to another session than
 * `source`.
 */
export const eventsOf = (
  entries: ReadonlyArray<Entry>,
  source: EventSource | undefined
): ReadonlyArray<RowEvent | Fact> => {
  const created = new Set<SessionID>()
  for (const entry of entries) if (entry._tag === "Session" && entry.isNew === true) created.add(entry.info.id)
  const events: Array<RowEvent | Fact> = []
  const add = <T extends RowType>(id: SessionID, type: T, properties: EventProperties<T>) => {
    if (created.has(id)) return
    if (source?.id !== id) {
      throw new Error(`A row of the session ${id} was committed for ${source?.id ?? "no session"}.`)
    }
    events.push(rowEvent(source, type, properties))
  }
  for (const entry of entries) {
    switch (entry._tag) {
      case "Fact":
        events.push(entry)
        break
      case "Session": {
        const { info, isNew } = entry
        events.push(rowEvent(info, isNew === true ? "session.created" : "session.updated", { info }))
        break
      }
      case "DeleteSession":
        events.push(rowEvent(entry.info, "session.deleted", { info: entry.info }))
        break
      case "Message":
        add(entry.info.sessionID, "message.updated", { info: entry.info })
        break
      case "Part":
        add(entry.part.sessionID, "message.part.updated", { part: entry.part })
        break
      case "Todos":
        add(entry.sessionID, "todo.updated", { todos: entry.todos })
        break
      default:
        break
    }
  }
  return events
}
