/** Rows for the storage tests. */
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"

/** A root session, unless `more` says otherwise. */
export const sessionOf = (id: SessionID, title: string, more: Partial<SessionInfo> = {}): SessionInfo => ({
  id,
  rootID: id,
  depth: 0,
  projectID: "project",
  directory: "/",
  title,
  agent: "build",
  permission: [],
  usage: { own: none, subtree: none },
  version: 1,
  time: { created: 1, updated: 1 },
  ...more
})
