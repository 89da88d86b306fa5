/** Rows to store: each function fills in the fields that the test does not care about. */
import type { Write } from "@skein/core/SessionStorage"
import type { Event, EventProperties, EventType } from "@skein/domain/Event"
import { EventID, MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { Message } from "@skein/domain/Message"
import type { TaskRun } from "@skein/domain/Outcome"
import type { Part } from "@skein/domain/Part"
import { type SessionInfo, version } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"

/** Ids by a short name. */
export const ids = {
  ses: (name: string) => SessionID.make(`ses_${name}`),
  msg: (name: string) => MessageID.make(`msg_${name}`),
  prt: (name: string) => PartID.make(`prt_${name}`),
  run: (name: string) => RunID.make(`run_${name}`),
  evt: (name: string) => EventID.make(`evt_${name}`)
}

/** A session; a root unless a parent is given. */
export const session = (
  name: string,
  { parent, root, ...rest }: Partial<SessionInfo> & { readonly parent?: string; readonly root?: string } = {}
): SessionInfo => ({
  id: ids.ses(name),
  ...(parent === undefined ? {} : { parentID: ids.ses(parent) }),
  rootID: ids.ses(root ?? parent ?? name),
  depth: parent === undefined ? 0 : 1,
  projectID: "project",
  directory: "/work",
  title: name,
  agent: "build",
  permission: [],
  usage: { own: none, subtree: none },
  version,
  time: { created: 1, updated: 1 },
  ...rest
})

/** A user message. */
export const message = (sessionName: string, name: string, agent = "build"): Message => ({
  id: ids.msg(name),
  sessionID: ids.ses(sessionName),
  role: "user",
  agent,
  time: { created: 1 }
})

/** A text part. */
export const part = (sessionName: string, messageName: string, name: string, text = name): Part => ({
  id: ids.prt(name),
  sessionID: ids.ses(sessionName),
  messageID: ids.msg(messageName),
  type: "text",
  text
})

/** A run of this task. */
export const run = (name: string, task: string, rest: Partial<TaskRun> = {}): TaskRun => ({
  id: ids.run(name),
  taskID: ids.ses(task),
  parentID: ids.ses("root"),
  rootID: ids.ses("root"),
  agent: "explore",
  description: name,
  prompt: "look",
  background: false,
  state: "running",
  time: { created: 1 },
  ...rest
})

/** An inbox row. */
export const inboxRow = (sessionName: string, name: string, runName?: string): InboxRow => ({
  id: ids.msg(name),
  sessionID: ids.ses(sessionName),
  kind: runName === undefined ? "prompt" : "notification",
  ...(runName === undefined ? {} : { runID: ids.run(runName) }),
  parts: [{ type: "text", text: name }],
  time: { created: 1 }
})

/** An event of a session, which is its own root unless another is given. */
export const event = <T extends EventType>(
  sessionName: string,
  name: string,
  type: T,
  properties: EventProperties<T>,
  root = sessionName
): Event =>
  // One kind and its properties, which the type of the union cannot relate.
  ({
    id: ids.evt(name),
    type,
    timestamp: 1,
    sessionID: ids.ses(sessionName),
    rootID: ids.ses(root),
    depth: 0,
    properties
  }) as Event

/** Writes of these rows. */
export const write = {
  session: (info: SessionInfo): Write => ({ _tag: "Session", info }),
  message: (info: Message): Write => ({ _tag: "Message", info }),
  part: (row: Part): Write => ({ _tag: "Part", part: row }),
  run: (row: TaskRun): Write => ({ _tag: "Run", run: row }),
  inbox: (row: InboxRow): Write => ({ _tag: "Inbox", row }),
  taken: (sessionName: string, name: string): Write => ({
    _tag: "InboxTaken",
    id: ids.msg(name),
    sessionID: ids.ses(sessionName),
    at: 2
  }),
  event: (row: Event): Write => ({ _tag: "Event", event: row }),
  delete: (name: string): Write => ({ _tag: "DeleteSession", id: ids.ses(name) })
}
