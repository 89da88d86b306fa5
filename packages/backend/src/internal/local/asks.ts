/** The questions to people in this process, and the approvals. */
import { answerAnywhere } from "@skein/core/Control"
import type { Permission } from "@skein/core/Permission"
import type { Question } from "@skein/core/Question"
import { findSession } from "@skein/core/SessionLookup"
import { pendingAsks } from "@skein/core/Snapshots"
import * as Effect from "effect/Effect"
import type { Asking } from "../../Asking.ts"
import type { Local } from "./Local.ts"

/** Makes them. */
export const makeAsks = (
  { given }: Local,
  permission: typeof Permission.Service,
  question: typeof Question.Service
): Asking => ({
  pending: (session) =>
    given(
      session === undefined
        ? pendingAsks()
        : Effect.flatMap(findSession(session), ({ rootID }) => pendingAsks(rootID))
    ),
  reply: (id, answer, options) =>
    given(answerAnywhere({ type: "reply", id, answer, ...options }, permission.reply(id, answer, options))),
  answer: (id, answers) => given(answerAnywhere({ type: "answer", id, answers }, question.reply(id, answers))),
  dismiss: (id) => given(answerAnywhere({ type: "dismiss", id }, question.dismiss(id))),
  approvals: (projectID, session) =>
    session === undefined
      ? permission.approvals(projectID)
      : given(Effect.flatMap(findSession(session), ({ rootID }) => permission.approvals(projectID, rootID))),
  revoke: (projectID, id) => permission.revoke(projectID, id)
})
