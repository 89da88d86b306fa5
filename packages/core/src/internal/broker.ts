/** The broker of permission: rules decide first, then saved approvals, then a person. */
import type { EventProperties, PermissionReply, PermissionRequest } from "@skein/domain/Event"
import { Ids, type PermissionID, type SessionID } from "@skein/domain/Id"
import type { Action, Rule } from "@skein/domain/Rule"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { failpoint } from "../Failpoints.ts"
import { type HookPlace, Hooks } from "../Hooks.ts"
import { Journal } from "../Journal.ts"
import type { AskingCall, Caller, PermissionOptions, Subject } from "../Permission.ts"
import { PermissionDenied, PermissionNotFound } from "../PermissionError.ts"
import { evaluate, expandHome, stricter } from "../Ruleset.ts"
import { approvalRule, SessionStorage } from "../SessionStorage.ts"
import type { PermissionAsk } from "../Tool.ts"
import { allowedBefore, allowedBy, askedBefore } from "./askedBefore.ts"
import { byOtherWords, byRules, countsFor, isOffered, remembered } from "./verdict.ts"

/** How long a question may wait before it counts as rejected. */
const patience = Duration.hours(24)

interface Answer {
  readonly reply: PermissionReply
  readonly message?: string
  readonly scope?: "tree" | "project"
}

interface Pending {
  readonly request: PermissionRequest
  readonly subject: Subject
  readonly tool: Caller
  readonly ask: PermissionAsk
  readonly answer: Deferred.Deferred<Answer>
}

/** An answer as the log of events has it. */
const answerOf = ({ message, reply }: EventProperties<"permission.replied">): Answer => ({
  reply,
  ...(message === undefined ? {} : { message })
})

const denied = (ask: PermissionAsk, by: PermissionDenied["by"], endsTurn: boolean, message: string) =>
  new PermissionDenied({ permission: ask.permission, patterns: ask.patterns, by, endsTurn, message })

const placeOf = ({ path, session }: Subject): HookPlace => ({
  sessionID: session.id,
  rootID: session.rootID,
  path,
  cwd: session.directory
})

/** Makes the service. */
export const makeBroker = (options: PermissionOptions) =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const storage = yield* SessionStorage
    const ids = yield* Ids
    const hooks = yield* Hooks
    const scope = yield* Effect.scope
    const pending = new Map<PermissionID, Pending>()
    const approvedInTree = new Map<SessionID, ReadonlyArray<Rule>>()
    const home = options.home
    const expand = remembered((rules) => home === undefined ? rules : expandHome(rules, home))

    /** What was allowed for the rest of a tree, also before a restart. */
    const approvedIn = (rootID: SessionID) => {
      const known = approvedInTree.get(rootID)
      if (known !== undefined) return Effect.succeed(known)
      return Effect.map(Effect.provideService(allowedBefore(rootID), SessionStorage, storage), (rules) => {
        // Another call may have been answered while this was read.
        const rulesNow = approvedInTree.get(rootID) ?? rules
        approvedInTree.set(rootID, rulesNow)
        return rulesNow
      })
    }

    const decide = Effect.fnUntraced(function*(given: Subject, tool: Caller, ask: PermissionAsk) {
      const subject = { ...given, rules: expand(given.rules), ceilings: given.ceilings.map(expand) }
      const actions = byRules(subject, tool, ask)
      const inOtherWords = byOtherWords(subject, tool, ask)
      const strictest = actions.reduce<Action>(stricter, inOtherWords)
      if (strictest === "deny") return strictest
      if (ask.protected === true || ask.unclear === true || ask.insists === true) return "ask"
      if (strictest === "allow" || ask.consented === true) return "allow"
      const project = (yield* storage.approvals(subject.session.projectID)).map(approvalRule)
      const approved = [
        ...(yield* approvedIn(subject.session.rootID)),
        ...(home === undefined ? project : expandHome(project, home))
      ]
      const counts = countsFor(ask)
      const open = ask.patterns.some((pattern, i) =>
        actions[i] === "ask" && evaluate(approved, ask.permission, pattern, counts(pattern)) !== "allow"
      )
      return open || inOtherWords === "ask" ? "ask" : "allow"
    })

    const tell = (subject: Subject, request: PermissionRequest) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        failpoint("perm_before_commit").pipe(
          Effect.zipRight(journal.commit([], [journal.event(subject.session, "permission.asked", request, now)])),
          Effect.zipLeft(failpoint("perm_pending"))
        ))

    const tellReply = (subject: Subject, id: PermissionID, answer: Answer) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.zipLeft(
          journal.commit([], [journal.event(subject.session, "permission.replied", { id, ...answer }, now)]),
          failpoint("perm_reply_committed")
        ))

    const askNobody = Effect.fnUntraced(function*(subject: Subject, request: PermissionRequest, ask: PermissionAsk) {
      const message = `Permission denied: ${ask.permission} (${
        ask.patterns.join(", ")
      }) needs a person's consent, and nobody can be asked here.`
      yield* tell(subject, request)
      yield* tellReply(subject, request.id, { reply: "reject", message })
      return yield* denied(ask, "nobody", false, message)
    })

    const expired: Answer = { reply: "reject", message: "Nobody answered within 24 hours." }
    const withdrawn: Answer = { reply: "reject", message: "The call was stopped before anybody answered." }

    const heed = (ask: PermissionAsk, { message, reply: given }: Answer) =>
      given !== "reject" ? Effect.void : denied(
        ask,
        "rejected",
        message === undefined,
        message === undefined ? "Permission denied." : `Permission denied. The user says: ${message}`
      )

    const askPerson = Effect.fnUntraced(
      function*(
        subject: Subject,
        tool: Caller,
        request: PermissionRequest,
        ask: PermissionAsk,
        left: Duration.Duration
      ) {
        const answer = yield* Deferred.make<Answer>()
        pending.set(request.id, { request, subject, tool, ask, answer })
        yield* tell(subject, request)
        const given = yield* Deferred.await(answer).pipe(
          Effect.timeoutOption(left),
          Effect.flatMap(Option.match({
            onSome: Effect.succeed,
            onNone: () =>
              pending.delete(request.id)
                ? Effect.as(tellReply(subject, request.id, expired), expired)
                : Deferred.await(answer)
          })),
          // Whoever shows the question must hear that it is no more.
          Effect.onInterrupt(() =>
            pending.has(request.id)
              ? Effect.catchAll(
                tellReply(subject, request.id, withdrawn),
                (error) => Effect.logError("The end of a question could not be stored", error.message)
              )
              : Effect.void
          )
        )
        yield* heed(ask, given)
      },
      (effect, _subject, _tool, request) =>
        Effect.ensuring(
          effect,
          Effect.sync(() => pending.delete(request.id))
        )
    )

    const authorise = Effect.fnUntraced(function*(
      subject: Subject,
      tool: Caller,
      ask: PermissionAsk,
      call?: AskingCall
    ) {
      const action = yield* decide(subject, tool, ask)
      if (action === "allow") {
        return
      }
      if (action === "deny") {
        return yield* denied(
          ask,
          "rule",
          false,
          `Permission denied: a rule forbids ${ask.permission} (${ask.patterns.join(", ")}) here.`
        )
      }
      const alwaysAsks = ask.protected === true || ask.permission === "doom_loop"
      const before = call?.resumes === true
        ? yield* Effect.provideService(
          askedBefore(subject.session.rootID, call.partID, ask),
          SessionStorage,
          storage
        )
        : undefined
      if (before?.answer !== undefined) return yield* heed(ask, answerOf(before.answer))
      const request: PermissionRequest = before?.request ?? {
        id: yield* ids.make("per"),
        ...(call === undefined ? {} : { partID: call.partID }),
        sessionID: subject.session.id,
        rootID: subject.session.rootID,
        path: subject.path,
        permission: ask.permission,
        patterns: ask.patterns,
        always: alwaysAsks ? [] : ask.always,
        metadata: ask.metadata
      }
      const caller = { name: tool.name, permission: ask.permission }
      if (hooks.hears("PermissionRequest", caller)) {
        const allows = yield* Effect.mapError(
          hooks.permissionRequest(placeOf(subject), caller, request),
          ({ message }) => denied(ask, "hook", false, message)
        )
        if (allows && !alwaysAsks) return
      }
      if (options.asks === "auto" && !alwaysAsks) {
        return
      }
      if (hooks.hears("Notification", caller)) {
        const notified = hooks.notification(placeOf(subject), caller, request)
        // The question does not wait for it; where there is none, the program might end before it is told.
        yield* options.asks === "person" ? Effect.forkIn(notified, scope) : notified
      }
      if (options.asks !== "person") return yield* askNobody(subject, request, ask)
      const now = yield* Clock.currentTimeMillis
      const waited = Duration.millis(now - (before?.at ?? now))
      return yield* askPerson(subject, tool, request, ask, Duration.subtract(patience, waited))
    })

    const settle = Effect.fnUntraced(function*(each: Pending, answer: Answer) {
      pending.delete(each.request.id)
      yield* tellReply(each.subject, each.request.id, answer)
      yield* Deferred.succeed(each.answer, answer)
    })

    const reply = Effect.fn("Permission.reply")(function*(
      id: PermissionID,
      answer: PermissionReply,
      details?: { readonly message?: string; readonly scope?: "tree" | "project" }
    ) {
      const found = pending.get(id)
      if (found === undefined) {
        return yield* new PermissionNotFound({
          id,
          message: `No question ${id} waits for an answer; it may have been answered.`
        })
      }
      const { rootID } = found.subject.session
      if (answer === "always") {
        const { projectID } = found.subject.session
        const rules = allowedBy(found.request)
        if (details?.scope === "project") {
          const created = yield* Clock.currentTimeMillis
          const writes = yield* Effect.forEach(rules, ({ pattern, permission }) =>
            Effect.map(ids.make("per"), (approvalID) => ({
              _tag: "Approval" as const,
              approval: { id: approvalID, projectID, permission, pattern, created }
            })))
          yield* journal.commit(writes, [])
        } else approvedInTree.set(rootID, [...(yield* approvedIn(rootID)), ...rules])
      }
      yield* settle(found, {
        reply: answer,
        ...(details?.message === undefined ? {} : { message: details.message }),
        ...(answer === "always" ? { scope: details?.scope ?? "tree" } : {})
      })
      for (const other of [...pending.values()]) {
        if (other.subject.session.rootID !== rootID) {
          continue
        }
        const action = yield* decide(other.subject, other.tool, other.ask)
        if (action === "allow") {
          yield* settle(other, { reply: "once" })
        }
        if (action === "deny") {
          yield* settle(other, { reply: "reject", message: "A rule forbids it now." })
        }
      }
    })

    const revoke = Effect.fn("Permission.revoke")(function*(projectID: string, id: string) {
      const known = yield* storage.approvals(projectID)
      if (
        !known.some((approval) =>
          approval.id === id
        )
      ) {
        return yield* new PermissionNotFound({
          id,
          message: `This project has no approval ${id}. See \`skein permissions\`.`
        })
      }
      yield* journal.commit([{ _tag: "RemoveApproval", id }], [])
    })

    return {
      decide,
      authorise,
      offered: isOffered,
      reply,
      pending: (rootID?: SessionID) =>
        Effect.sync(() =>
          [...pending.values()].map((each) => each.request).filter((each) =>
            rootID === undefined || each.rootID === rootID
          )
        ),
      approvals: storage.approvals,
      revoke
    }
  })
