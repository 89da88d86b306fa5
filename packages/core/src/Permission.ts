/** Owns what may be done: decides each call by the rules that hold for it, and asks a person where they say so. */
import type { PermissionReply, PermissionRequest } from "@skein/domain/Event"
import type { PermissionID, SessionID } from "@skein/domain/Id"
import type { Action } from "@skein/domain/Rule"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Approval } from "./Approval.ts"
import type { Hooks } from "./Hooks.ts"
import { makeBroker } from "./internal/permission/broker.ts"
import type { PermissionDenied, PermissionNotFound } from "./PermissionError.ts"
import type { PermissionOptions } from "./PermissionOptions.ts"
import type { StorageError } from "./StorageError.ts"
import type { AskingCall, Caller, Subject } from "./Subject.ts"
import type { PermissionAsk } from "./Tool.ts"

export type { PermissionOptions } from "./PermissionOptions.ts"
export type { Subject } from "./Subject.ts"

/** What may be done. */
export class Permission extends Context.Tag("@skein/core/Permission")<Permission, {
  /** What the rules say: the strictest of agent and ceilings, over all patterns; saved approvals lift `ask`, never `deny`. */
  readonly decide: (subject: Subject, tool: Caller, ask: PermissionAsk) => Effect.Effect<Action, StorageError>
  /** Ends when the call may be made. A person has 24 hours to answer. The hooks are those of the caller's project. */
  readonly authorise: (
    subject: Subject,
    tool: Caller,
    ask: PermissionAsk,
    call?: AskingCall
  ) => Effect.Effect<void, PermissionDenied | StorageError, Hooks>
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
  /** Decides by rules, and has the `Answerer` of each tree meet the questions. */
  static readonly layer = (options: Pick<PermissionOptions, "home"> = {}) =>
    Layer.scoped(Permission, makeBroker(options))

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
