/** Decides which sessions a commit changes. */
import type { SessionID } from "@skein/domain/Id"
import type { Write } from "../../SessionStorage.ts"

/** The session that a write belongs to; undefined where it is of a project, or of who holds a tree. */
export const sessionOf = (write: Write): SessionID | undefined => {
  switch (write._tag) {
    case "Session":
      return write.info.id
    case "DeleteSession":
      return write.id
    case "Message":
      return write.info.sessionID
    case "Part":
      return write.part.sessionID
    case "Run":
      return write.run.parentID
    case "Inbox":
      return write.row.sessionID
    case "RemovePart":
    case "InboxTaken":
    case "Todos":
      return write.sessionID
    case "Event":
      return write.event.sessionID
    default:
      return undefined
  }
}
