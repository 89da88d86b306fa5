/** Decides what a child session inherits, and what is its own. */
import type { SessionID } from "@skein/domain/Id"
import { type SessionInfo, version } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import type { ChildOptions } from "../../Turn.ts"

/** The data of a new child session. */
export const childInfo = (parent: SessionInfo, id: SessionID, options: ChildOptions, now: number): SessionInfo => ({
  id,
  parentID: parent.id,
  rootID: parent.rootID,
  depth: parent.depth + 1,
  projectID: parent.projectID,
  directory: parent.directory,
  ...options.place,
  title: options.title,
  agent: options.agent,
  ...(options.model === undefined ? {} : { model: options.model }),
  ...(options.prompt === undefined ? {} : { prompt: { agent: options.agent, text: options.prompt } }),
  permission: options.permission,
  usage: { own: none, subtree: none },
  version,
  time: { created: now, updated: now }
})
