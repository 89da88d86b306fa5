/** Decides what clients send: bodies and queries, in which unknown keys are errors. */
import { Budget } from "@skein/domain/Budget"
import { PermissionReply } from "@skein/domain/Event"
import { MessageID } from "@skein/domain/Id"
import { ageFrom, millisecondsUpTo } from "@skein/domain/Milliseconds"
import { Mode } from "@skein/domain/Mode"
import { mostParts, PartInput } from "@skein/domain/Part"
import { longestTitle } from "@skein/domain/Typed"
import * as Schema from "effect/Schema"

/** A body whose unknown keys are refused. */
const body = <Fields extends Schema.Struct.Fields>(identifier: string, fields: Fields) =>
  Schema.Struct(fields).annotations({ identifier, parseOptions: { onExcessProperty: "error" } })

const Text = Schema.String.pipe(Schema.filter((text) => text.trim() !== "" || "a text that is not blank"))

/** A short text, of so many characters at most: lists and terminals show it whole. */
const upTo = (most: number) => Text.pipe(Schema.maxLength(most, { message: () => `at most ${most} characters` }))

const Title = upTo(longestTitle)
const Name = upTo(200)
/** As long as paths of Linux are. */
const Path = upTo(4_096)
const Model = Schema.Struct({ providerID: Name, modelID: upTo(500) })

/** Creates a session. */
export const CreateSession = body("CreateSession", {
  /** The working directory, absolute, on the machine of the server. */
  directory: Path,
  agent: Schema.optional(Name),
  /** At most 500 characters. */
  title: Schema.optional(Title),
  model: Schema.optional(Model),
  /** What it and everything below it may do without a question; `ask` by default, `plan` for the agent `plan`. */
  mode: Schema.optional(Mode)
})

const answering = {
  agent: Schema.optional(Name),
  model: Schema.optional(Model),
  /** Replaces the session's budget from now on, for it and everything below it. */
  budget: Schema.optional(Budget),
  /** `turn`: a session at work does not read it at its next step, but after its turn. */
  after: Schema.optional(Schema.Literal("turn")),
  /** Denies what would be asked, until the turn has ended (`turn`) or nothing of the session runs (`tree`). */
  unattended: Schema.optional(Schema.Literal("turn", "tree"))
}

const tooMany = { message: () => `at most ${mostParts} parts: join texts into fewer` }

/** Additions to words or a command: text without references, such as piped input, and files. */
const more = {
  text: Schema.optional(Schema.String),
  parts: Schema.optional(Schema.Array(PartInput).pipe(Schema.maxItems(mostParts, tooMany)))
}

/** Prompts a session with a text, with parts, or with what a person typed. */
export const Prompt = Schema.Union(
  body("PromptText", { text: Text, ...answering }),
  body("PromptParts", {
    parts: Schema.NonEmptyArray(PartInput).pipe(Schema.maxItems(mostParts, tooMany)),
    ...answering
  }),
  /** Typed words: `@agent` in them asks for that subagent, `@path` attaches a file. */
  body("PromptWords", { words: Text, ...more, ...answering }),
  body("PromptCommand", {
    command: Schema.Struct({
      name: Name,
      arguments: Schema.optional(Schema.Union(Schema.String, Schema.Array(Schema.String)))
    }),
    ...more,
    ...answering
  })
)
/** The type of a prompt. */
export type Prompt = typeof Prompt.Type

/** Changes the title of a session, or the mode of its tree. */
export const ChangeSession = body("ChangeSession", { title: Schema.optional(Title), mode: Schema.optional(Mode) }).pipe(
  Schema.filter(({ mode, title }) => mode !== undefined || title !== undefined || "`title` or `mode`, or both")
)

/** Copies a session, up to and including a message. */
export const ForkSession = body("ForkSession", { messageID: Schema.optional(MessageID) })

/** Answers a permission question. `scope` says where `always` applies. */
export const AnswerPermission = body("AnswerPermission", {
  answer: PermissionReply,
  scope: Schema.optional(Schema.Literal("tree", "project")),
  message: Schema.optional(Schema.String)
})

/** Answers a question of an agent. */
export const AnswerQuestion = body("AnswerQuestion", { answers: Schema.NonEmptyArray(Schema.String) })

/** Dismisses a question of an agent. */
export const DismissQuestion = body("DismissQuestion", { dismiss: Schema.Literal(true) })

/** Answers a question. */
export const Reply = Schema.Union(AnswerPermission, AnswerQuestion, DismissQuestion)
/** The type of an answer to a question. */
export type Reply = typeof Reply.Type

/** Sends a message to a task. */
export const TaskMessage = body("TaskMessage", { message: Text })

/** Stops a task. */
export const StopTask = body("StopTask", { reason: Schema.optional(Schema.String.pipe(Schema.maxLength(10_000))) })

const TrustIDs = Schema.NonEmptyArray(Schema.String.pipe(
  Schema.pattern(/^[0-9a-f]{12}$/, { message: () => "12 hexadecimal digits, as the list has them" })
)).pipe(Schema.maxItems(500))

/** Trusts settings of the project of a directory. */
export const AllowTrust = body("AllowTrust", { directory: Path, ids: TrustIDs })

/** Revokes trust. */
export const RevokeTrust = body("RevokeTrust", { ids: TrustIDs })

/** Removes worktrees. */
export const CleanWorktrees = body("CleanWorktrees", {
  dryRun: Schema.optional(Schema.Boolean),
  force: Schema.optional(Schema.Boolean)
})
/** The type of a request to remove worktrees. */
export type CleanWorktrees = typeof CleanWorktrees.Type

/** Removes old data. */
export const Prune = body("Prune", {
  /** Also removes sessions unchanged for that long. */
  olderThan: Schema.optional(
    ageFrom(24 * 60 * 60_000, "a day")
  ),
  projectID: Schema.optional(Path),
  all: Schema.optional(Schema.Literal(true)),
  dryRun: Schema.optional(Schema.Boolean)
}).pipe(
  Schema.filter(({ all, olderThan, projectID }) =>
    (olderThan === undefined ? 0 : 1) === (all === undefined ? 0 : 1) + (projectID === undefined ? 0 : 1)
    || "`olderThan` goes with either `projectID` or `all`: true"
  )
)

/** Exchanges a login code. */
export const Login = body("Login", { code: Name })

/** A boolean in a query. */
export const flag = Schema.optional(Schema.Literal("true", "false"))

/** Which tasks to wait for, and for how long: 10 minutes by default. */
export const WaitForTasks = body("WaitForTasks", {
  tasks: Schema.NonEmptyArray(Name).pipe(Schema.maxItems(500)),
  timeout: Schema.optional(millisecondsUpTo(24 * 60 * 60_000, "24 hours"))
})

const maximum = 500

/** Which page of a list to read. */
export const page = {
  limit: Schema.optional(Schema.NumberFromString.pipe(Schema.int(), Schema.between(1, maximum))),
  /** `next` of the previous page. */
  cursor: Schema.optional(Schema.String)
}

/** Which messages to read: a page from the oldest on, or the newest so many, of those before one if you name it. */
export const whichMessages = Schema.Struct({ ...page, newest: page.limit, before: Schema.optional(MessageID) })

/** Which ids to look up. */
export const startOfID = Schema.Struct({
  of: Schema.Literal("sessions", "tasks", "runs"),
  start: Name,
  limit: page.limit
})

/** Where a replay of events begins: after this event. */
export const replay = {
  query: Schema.Struct({ from: Schema.optional(Schema.String) }),
  headers: Schema.Struct({ "last-event-id": Schema.optional(Schema.String) })
}

/** The key that makes a request safe to repeat. */
export const idempotency = Schema.Struct({
  "idempotency-key": Schema.optional(
    Schema.String.pipe(Schema.pattern(/^[\x21-\x7e]{1,255}$/, { message: () => "1 to 255 visible ASCII characters" }))
  )
})
