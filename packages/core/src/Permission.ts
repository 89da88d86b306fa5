/** Owns what may be done: decides each call by the rules that hold for it, and asks a person where they say so. */
import type { PermissionReply, PermissionRequest } from "@skein/domain/Event"
import type { PartID, PermissionID, SessionID } from "@skein/domain/Id"
import type { Action, Ruleset } from "@skein/domain/Rule"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeBroker } from "./internal/permission/broker.ts"
import type { EventSource } from "./Journal.ts"
import type { PermissionDenied, PermissionNotFound } from "./PermissionError.ts"
import type { Approval } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import type { PermissionAsk } from "./Tool.ts"

/** Whose call it is, and the rules that it goes by. */
export interface Subject {
  readonly session: EventSource & Pick<SessionInfo, "projectID" | "directory">
  /** The names of the agents from the root to the one that calls. */
  readonly path: ReadonlyArray<string>
  /** The rules of the agent, over the defaults. */
  readonly rules: Ruleset
  /** The ceilings of the session, of its agent, and of all above; each has a say, none can lift another. */
  readonly ceilings: ReadonlyArray<Ruleset>
  /** The same as it is when it is asked for: agents may be switched and config may change while a call waits. */
  readonly now?: Effect.Effect<Subject>
}

/** The tool that calls, by its name and by the permission key that it goes by. */
export interface Caller {
  readonly name: string
  readonly permission: string
}

/** The call that a question is asked for. */
export interface AskingCall {
  readonly partID: PartID
  /** Whether a process that is no more may have asked for it already: the question is the same then, and so is its answer. */
  readonly resumes: boolean
  /** The arguments of the call, and its id: hooks are told of them. */
  readonly about?: { readonly input: unknown; readonly callID: string }
  /** Takes the arguments that a hook that consents puts in the place of the call's; where absent, such a hook is refused. */
  readonly changed?: (input: unknown) => void
}

/** How questions are met where the rules do not decide. */
export interface PermissionOptions {
  /** `person`: somebody watches the bus and replies; `nobody`: a question is a denial; `auto`: a question is an allowance. */
  readonly asks: "person" | "nobody" | "auto"
  /** Stands for `~/` and `$HOME` in patterns. */
  readonly home?: string
}

/** What may be done. */
export class Permission extends Context.Tag("@skein/core/Permission")<Permission, {
  /** What the rules say: the strictest of agent and ceilings, over all patterns; saved approvals lift `ask`, never `deny`. */
  readonly decide: (subject: Subject, tool: Caller, ask: PermissionAsk) => Effect.Effect<Action, StorageError>
  /** Ends when the call may be made. A person has 24 hours to answer. */
  readonly authorise: (
    subject: Subject,
    tool: Caller,
    ask: PermissionAsk,
    call?: AskingCall
  ) => Effect.Effect<void, PermissionDenied | StorageError>
  /** Whether anything at all of a tool may ever be allowed: a model is not offered what is denied anyway. */
  readonly offered: (subject: Subject, tool: Caller) => boolean
  /**
   * Answers a question, once; all others of its tree are looked at again. `always` stores the patterns that the question
   * offers: for the tree where no scope is named.
   */
  readonly reply: (
    id: PermissionID,
    reply: PermissionReply,
    options?: { readonly message?: string; readonly scope?: "tree" | "project" }
  ) => Effect.Effect<void, PermissionNotFound | StorageError>
  /** The questions that wait, oldest first. */
  readonly pending: (rootID?: SessionID) => Effect.Effect<ReadonlyArray<PermissionRequest>>
  /** What was allowed in a project: all of it, or what holds for one of its trees, be it for that alone or for all. */
  readonly approvals: (
    projectID: string,
    rootID?: SessionID
  ) => Effect.Effect<ReadonlyArray<Approval>, StorageError>
  /** Takes an approval back: the next decision of any process goes without it. */
  readonly revoke: (projectID: string, id: string) => Effect.Effect<void, PermissionNotFound | StorageError>
}>() {
  /** Decides by rules, and meets questions as the options say. */
  static readonly layer = (options: PermissionOptions) => Layer.scoped(Permission, makeBroker(options))

  /** Answers a question. */
  static readonly reply = (
    id: PermissionID,
    reply: PermissionReply,
    options?: { readonly message?: string; readonly scope?: "tree" | "project" }
  ) => Effect.flatMap(Permission, (permission) => permission.reply(id, reply, options))

  /** What was allowed in a project, or what of that holds for one of its trees. */
  static readonly approvals = (projectID: string, rootID?: SessionID) =>
    Effect.flatMap(Permission, (permission) => permission.approvals(projectID, rootID))

  /** Takes an approval back. */
  static readonly revoke = (projectID: string, id: string) =>
    Effect.flatMap(Permission, (permission) => permission.revoke(projectID, id))
}
