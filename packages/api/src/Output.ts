/** Decides the answers of the API, as far as `domain` does not already describe them. */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import { Account } from "@skein/domain/Budget"
import { MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import { AssistantMessage, Message } from "@skein/domain/Message"
import { ModelInfo, ModelRef } from "@skein/domain/Model"
import { Outcome, TaskRun } from "@skein/domain/Outcome"
import { Part } from "@skein/domain/Part"
import { ListedSession } from "@skein/domain/TreeSnapshot"
import { Usage } from "@skein/domain/Usage"
import * as Schema from "effect/Schema"

/** A page of a list. `next` requests the following page, and is absent on the last one. */
export const pageOf = <A, I>(item: Schema.Schema<A, I>) =>
  Schema.Struct({ items: Schema.Array(item), next: Schema.optional(Schema.String) })

/** A root session, and whether anything in its tree is running or was interrupted. */
export const RootSession = Schema.Struct({ ...ListedSession.fields, unfinished: Schema.Boolean })
/** The type of a listed root session. */
export interface RootSession extends Schema.Schema.Type<typeof RootSession> {}

/** A message with its parts. */
export const MessageWithParts = Schema.Struct({ info: Message, parts: Schema.Array(Part) })

/** A stored prompt: the id of its message, and the names in its words that matched nothing. */
export const Accepted = Schema.Struct({
  messageID: MessageID,
  notes: Schema.optional(Schema.Array(Schema.String))
}).annotations({
  identifier: "Accepted",
  ...HttpApiSchema.annotations({ status: 202 })
})

const turn = {
  sessionID: SessionID,
  /** The last assistant message, with its parts. */
  info: AssistantMessage,
  parts: Schema.Array(Part),
  text: Schema.String,
  end: Schema.Literal("completed", "denied", "steps"),
  usage: Usage
}

/** A turn that has ended, and the message that it answers. */
export const Turn = Schema.Struct({ ...turn, messageID: MessageID }).annotations({ identifier: "Turn" })

/** An idle session, and its last turn. */
export const Rested = Schema.Struct({ turn: Schema.optional(Schema.Struct(turn)) })

/** The position of a tree: the `seq` of its last event. */
export const Position = Schema.Struct({ rootID: SessionID, seq: Schema.NonNegativeInt })

/** Ids with the requested prefix. */
export const Ids = Schema.Struct({ items: Schema.Array(Schema.String) })

/** A time span of an agent: what it did, or what it waited for. Times are milliseconds since 1970. */
export const Span = Schema.Struct({
  id: Schema.String,
  /** `tasks`: it waited for its own tasks. `slot`, `budget`, `retry`, `pause` of a provider, `person`: it waited for these. */
  kind: Schema.Literal("model", "tool", "tasks", "slot", "budget", "retry", "pause", "person"),
  start: Schema.Number,
  /** Absent while the span continues. */
  end: Schema.optional(Schema.Number),
  label: Schema.String
})
/** The type of a span. */
export interface Span extends Schema.Schema.Type<typeof Span> {}

const ShownCall = Schema.Struct({ tool: Schema.String, title: Schema.String })

/** The history of an agent in a tree. */
export const AgentHistory = Schema.Struct({
  sessionID: SessionID,
  /** The model that answered last. */
  model: Schema.optional(ModelRef),
  /** The running calls. */
  calls: Schema.Array(Schema.Struct({ id: PartID, ...ShownCall.fields })),
  /** The call that began last. */
  last: Schema.optional(ShownCall),
  /** Sorted by their beginning. */
  spans: Schema.Array(Span)
})
/** The type of such a history. */
export interface AgentHistory extends Schema.Schema.Type<typeof AgentHistory> {}

/** A page of the histories of the agents in a tree, up to the event `seq`. */
export const TreeTimeline = Schema.Struct({
  rootID: SessionID,
  seq: Schema.NonNegativeInt,
  sessions: Schema.Array(AgentHistory),
  next: Schema.optional(Schema.String)
}).annotations({ identifier: "TreeTimeline" })

/** A task with all its runs. */
export const Task = Schema.Struct({
  taskID: SessionID,
  parentID: SessionID,
  rootID: SessionID,
  agent: Schema.String,
  /** Oldest first. */
  runs: Schema.Array(TaskRun),
  /** What it does or waits for. */
  doing: Schema.String
}).annotations({ identifier: "Task" })

/** How a stopped task ended: an outcome for each running run. */
export const Stopped = Schema.Struct({ outcomes: Schema.Array(Outcome) })

/** What happened to a message for a task: a running task reads it, an idle one begins a run. */
export const Told = Schema.Union(
  Schema.Struct({ status: Schema.Literal("steered"), messageID: MessageID }),
  Schema.Struct({ status: Schema.Literal("accepted"), messageID: MessageID, taskID: SessionID, runID: RunID })
)

/** The outcomes of tasks that have settled, and the tasks that have not. */
export const Waited = Schema.Struct({ settled: Schema.Array(Outcome), pending: Schema.Array(SessionID) })

/** What a session and everything below it have used. */
export const Cost = Schema.Struct({
  /** By the session's own requests. */
  own: Usage,
  /** By it and everything below it, including deleted sessions. */
  subtree: Usage,
  /** Its budget, and how much of that is used. */
  budget: Schema.optional(Account),
  /** By existing sessions, grouped by agent; most tokens first. */
  agents: Schema.Array(Schema.Struct({ agent: Schema.String, sessions: Schema.Int, usage: Usage }))
}).annotations({ identifier: "Cost" })

/** A rule that would have answered questions which a person answered with `once`, and their number. */
export const Suggestion = Schema.Struct({ permission: Schema.String, pattern: Schema.String, times: Schema.Int })

/** The size of a conversation before and after compaction. */
export const Compacted = Schema.Struct({
  messageID: MessageID,
  auto: Schema.Boolean,
  tokens: Schema.Struct({ before: Schema.NonNegativeInt, after: Schema.NonNegativeInt })
})

/** An answer of `always`, as it is stored. */
export const Approval = Schema.Struct({
  id: Schema.String,
  projectID: Schema.String,
  rootID: Schema.optional(SessionID),
  host: Schema.optional(Schema.String).annotations({
    description:
      "Of one for the project, in a database of several hosts: the host on which it was given. It counts only there."
  }),
  permission: Schema.String,
  pattern: Schema.String,
  created: Schema.Number
})

/** A note on a config file. */
const Remark = Schema.Struct({
  file: Schema.String,
  line: Schema.optional(Schema.Number),
  column: Schema.optional(Schema.Number),
  key: Schema.optional(Schema.String),
  message: Schema.String,
  kind: Schema.optional(Schema.String)
})

/** The effective settings of a directory. */
export const ShownConfig = Schema.Struct({
  config: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  /** The origin of each value, by path. */
  origins: Schema.Record({ key: Schema.String, value: Schema.String }),
  files: Schema.Array(Schema.String),
  instructions: Schema.Array(Schema.String),
  warnings: Schema.Array(Remark),
  /** What is wrong with files that cannot be used. */
  broken: Schema.Array(Schema.String)
}).annotations({ identifier: "Config" })
/** The type of the shown settings. */
export interface ShownConfig extends Schema.Schema.Type<typeof ShownConfig> {}

/** A value of a project's files that applies only if it is trusted. */
export const TrustItem = Schema.Struct({
  /** The beginning of `digest`, the hash of the value and its place. */
  id: Schema.String,
  digest: Schema.String,
  key: Schema.String,
  value: Schema.Unknown,
  file: Schema.String,
  line: Schema.optional(Schema.Number),
  state: Schema.Literal("trusted", "untrusted", "changed", "fixed", "gone"),
  since: Schema.optional(Schema.Number)
}).annotations({ identifier: "TrustItem" })
/** The type of such a value. */
export interface TrustItem extends Schema.Schema.Type<typeof TrustItem> {}

/** A worktree of a task. */
export const Worktree = Schema.Struct({
  taskID: SessionID,
  directory: Schema.String,
  branch: Schema.String,
  origin: Schema.optional(Schema.Struct({
    description: Schema.String,
    repository: Schema.String,
    repositoryExists: Schema.Boolean,
    base: Schema.String,
    created: Schema.Number
  })),
  changes: Schema.Union(
    Schema.Literal("none", "unknown"),
    Schema.Struct({
      commits: Schema.Int,
      onlyHere: Schema.Int,
      uncommitted: Schema.Int,
      diffStat: Schema.String
    })
  ),
  /** Whether its task is running. */
  atWork: Schema.Boolean
})
/** The type of a worktree. */
export interface Worktree extends Schema.Schema.Type<typeof Worktree> {}

/** A worktree, and what happened to it. */
export const CleanedWorktree = Schema.Struct({
  ...Worktree.fields,
  end: Schema.Literal("at_work", "kept", "would_remove", "removed", "failed"),
  /** Why it failed. */
  message: Schema.optional(Schema.String)
})
/** The type of a worktree that was checked. */
export interface CleanedWorktree extends Schema.Schema.Type<typeof CleanedWorktree> {}

/** What was removed, or would be. */
export const Pruned = Schema.Struct({
  dryRun: Schema.Boolean,
  sessions: Schema.Array(SessionID),
  events: Schema.Int,
  texts: Schema.Struct({ files: Schema.Int, bytes: Schema.Number })
})

/** A command of a project. */
export const Command = Schema.Struct({
  name: Schema.String,
  description: Schema.optional(Schema.String),
  agent: Schema.optional(Schema.String),
  origin: Schema.String
})

/** Something that the project would have if its file were valid. */
export const Broken = Schema.Struct({ name: Schema.String, message: Schema.String })

/** The model of an agent. `isUsual` if only the available keys chose it. */
export const ModelChoice = Schema.Struct({ model: Schema.optional(ModelRef), isUsual: Schema.Boolean })

/** A skill of a project. */
export const Skill = Schema.Struct({ name: Schema.String, description: Schema.String, origin: Schema.String })

/** A known model. `available` says whether the server can use it. */
export const Model = Schema.Struct({ ...ModelInfo.fields, available: Schema.Boolean })

/** The server. */
export const Server = Schema.Struct({
  version: Schema.String,
  pid: Schema.Int,
  /** When it started, in milliseconds since 1970. */
  started: Schema.Number,
  /** The directory in which it was started, if any. */
  directory: Schema.optional(Schema.String),
  /** The host on which it runs, and what tells that from others of its name, as far as its system knows. */
  host: Schema.optional(Schema.String),
  machine: Schema.optional(Schema.String),
  /** Whether it is one of several on its database. */
  cluster: Schema.Boolean
})

/** A login code, and when it expires, in milliseconds since 1970. */
export const LoginCode = Schema.Struct({ code: Schema.String, expires: Schema.Number })

/** The second half of a login: the value of the header `Skein-Key`, which accompanies the cookie. */
export const LoginKey = Schema.Struct({ key: Schema.String })

/** The outcome of a withdrawal. */
export const Withdrawal = Schema.Union(
  Schema.Struct({ status: Schema.Literal("withdrawn"), text: Schema.String }),
  /** An agent has it, or somebody else has withdrawn it. */
  Schema.Struct({ status: Schema.Literal("gone") })
).annotations({ identifier: "Withdrawal" })

const Milliseconds = Schema.NonNegative

/** The servers that share the database, and the trees that they took up from each other within the last hour. */
export const Cluster = Schema.Struct({
  runners: Schema.Array(Schema.Struct({
    url: Schema.String,
    host: Schema.String,
    port: Schema.Number,
    pid: Schema.Number,
    /** `silent`: it was not seen for 5 seconds. `dead`: its process has certainly ended. */
    state: Schema.Literal("alive", "silent", "dead"),
    /** How many trees it holds. */
    trees: Schema.NonNegativeInt,
    /** Some of them, the newest first. */
    held: Schema.Array(Schema.Struct({ id: Schema.String, title: Schema.String })),
    /** What it said when it was last seen. `lost`, `takeovers` (after a failure) and `moves` (planned) count trees since its start. */
    load: Schema.Struct({
      running: Schema.Number,
      queued: Schema.Number,
      sent: Schema.Number,
      waiting: Schema.Number,
      lost: Schema.Number,
      takeovers: Schema.Number,
      /** Questions that wait for a person. */
      asking: Schema.optionalWith(Schema.Number, { default: () => 0 }),
      moves: Schema.optionalWith(Schema.Number, { default: () => 0 })
    }),
    /** That of its program; absent if it does not tell it. */
    version: Schema.optional(Schema.String),
    /** How long ago it started, in milliseconds. */
    age: Milliseconds,
    /** How long ago it was last seen, in milliseconds. */
    silence: Milliseconds
  })),
  /** Trees with unfinished work whose directory is on a host without a server. */
  waiting: Schema.Array(Schema.Struct({
    rootID: Schema.String,
    title: Schema.String,
    host: Schema.String,
    directory: Schema.String
  })),
  /** Trees that were taken up, and were as unfinished as before. They are tried again from time to time. */
  failing: Schema.optionalWith(
    Schema.Array(Schema.Struct({
      rootID: Schema.String,
      title: Schema.String,
      failures: Schema.Number,
      /** The server that tried it last. */
      url: Schema.String,
      cause: Schema.String,
      /** When it is tried again: in how many milliseconds. */
      next: Milliseconds
    })),
    { default: () => [] }
  ),
  takeovers: Schema.Array(Schema.Struct({
    rootID: Schema.String,
    /** `died`: its server died or hangs. `left`: it ended as planned. `moved`: agents waited there. */
    why: Schema.Literal("died", "left", "moved"),
    /** The server that had the tree; absent if that is not known. */
    from: Schema.optional(Schema.String),
    to: Schema.String,
    /** How long ago, in milliseconds. */
    ago: Milliseconds,
    /** How long nobody worked in the tree, in milliseconds. */
    took: Milliseconds
  }))
}).annotations({ identifier: "Cluster" })
/** The type of that answer. */
export interface Cluster extends Schema.Schema.Type<typeof Cluster> {}
