/** Decides what the answer `always` stores, what it covers from then on, and how to revoke it. */
import { Ids } from "@skein/domain/Id"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { PermissionNotFound } from "../../Answerer.ts"
import { Journal } from "../../Journal.ts"
import { covers } from "../../Ruleset.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import type { PermissionAsk } from "../../Tool.ts"
import { type Approval, approvalRule, type Entry } from "../../Write.ts"
import type { Holding } from "./holding.ts"
import { countsFor } from "./verdict.ts"
import type { WaitingAsk } from "./waitingAsks.ts"

/** Whether approvals cover these patterns of a call; the permission itself is never a wildcard. */
export const isApproved = (
  approved: ReadonlyArray<Approval>,
  ask: PermissionAsk,
  patterns: ReadonlyArray<string>
): boolean => {
  const rules = approved.filter(({ permission }) => permission === ask.permission).map(approvalRule)
  const counts = countsFor(ask)
  return patterns.every((pattern) => {
    const counting = counts(pattern)
    return rules.some((rule) => (counting === undefined || counting(rule)) && covers(rule.pattern, pattern))
  })
}

const isSame = (a: Approval, b: Approval): boolean =>
  a.rootID === b.rootID && a.host === b.host && a.permission === b.permission && a.pattern === b.pattern

/** Makes the part of the broker that manages them. */
export const makeApprovals = ({ hostFor }: Pick<Holding, "hostFor">) =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const storage = yield* SessionStorage
    const ids = yield* Ids

    /** What is stored with the answer: exactly the patterns that the question showed. */
    const of = Effect.fnUntraced(function*({ ask, request, subject }: WaitingAsk, scope: "tree" | "project") {
      const { projectID, rootID } = subject.session
      const host = scope === "tree" ? undefined : yield* hostFor(rootID)
      const created = yield* Clock.currentTimeMillis
      const stored = [request.permission, ...ask.together ?? []].flatMap((permission) =>
        request.always.map((pattern) => ({ permission, pattern }))
      )
      return yield* Effect.forEach(stored, ({ pattern, permission }) =>
        Effect.map(ids.make("per"), (id): Entry => ({
          _tag: "Approval",
          approval: {
            id,
            projectID,
            ...(scope === "tree" ? { rootID } : {}),
            ...(host === undefined ? {} : { host }),
            permission,
            pattern,
            created
          }
        })))
    })

    const revoke = Effect.fn("Permission.revoke")(function*(projectID: string, id: string) {
      const known = yield* storage.approvals(projectID)
      const found = known.find((approval) => approval.id === id)
      if (found === undefined) {
        return yield* new PermissionNotFound({
          id,
          message: `This project has no approval ${id}. See \`skein permissions\`.`
        })
      }
      // The same may have been approved more than once.
      const all = known.filter((approval) => isSame(approval, found))
      yield* journal.commit(all.map((approval) => ({ _tag: "RemoveApproval", id: approval.id })))
    })

    return { of, revoke }
  })
