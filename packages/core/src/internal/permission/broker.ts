/** The permission broker: rules decide first, then stored approvals, then a person. */
import type { EventProperties, PermissionReply, PermissionRequest } from "@skein/domain/Event"
import { Ids, type PermissionID, type SessionID } from "@skein/domain/Id"
import type { Rule, Ruleset } from "@skein/domain/Rule"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { Answerer, PermissionDenied, type PermissionOptions } from "../../Answerer.ts"
import { failpoint } from "../../Failpoints.ts"
import { type HookPlace, Hooks } from "../../Hooks.ts"
import { Journal } from "../../Journal.ts"
import { makeSessionPaths } from "../../RulePaths.ts"
import type { AskingCall, Caller, Subject } from "../../Ruleset.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import type { Allowance, PermissionAsk } from "../../Tool.ts"
import type { Entry } from "../../Write.ts"
import { makeApprovals } from "./approvals.ts"
import { askedBefore, askedIn } from "./askedBefore.ts"
import { makeHolding } from "./holding.ts"
import { decidingRules, isOffered, isOfPlan, mayBeDenied, programOf, wouldAllow } from "./verdict.ts"
import { type Answer, makeWaitingAsks, noQuestion, type WaitingAsk } from "./waitingAsks.ts"
import { isDenied, readActionOf, type Verdict, weigh as weighCall } from "./weigh.ts"

/** How long a question may wait before it counts as rejected. */
const patience = Duration.hours(24)

/**
 * The minimum and maximum wait of a question that outlived its process. A clock that was set forward looks like time
 * that has passed, and one that was set back like a question from the future. Neither may reject it unseen or keep it.
 */
const patienceAgain = { minimum: Duration.hours(1), maximum: patience }

/** An answer from the event log. */
const answerOf = ({ message, reply }: EventProperties<"permission.replied">): Answer => ({
  reply,
  ...(message === undefined ? {} : { message })
})

const denied = (ask: PermissionAsk, by: PermissionDenied["by"], endsTurn: boolean, message: string) =>
  new PermissionDenied({ permission: ask.permission, patterns: ask.patterns, by, endsTurn, message })

/** A rule as it is written, and where. */
const toldRule = ({ action, origin, pattern, permission }: Rule): string =>
  `${JSON.stringify(permission)}: {${JSON.stringify(pattern)}: "${action}"}${
    origin === undefined ? "" : ` in ${origin}`
  }`

/** The rules that say where they are written, as they follow what they do. */
const toldOrigins = (rules: Ruleset): string => {
  const told = rules.filter(({ origin }) => origin !== undefined).map(toldRule)
  return told.length === 0 ? "" : `: ${told.slice(0, 2).join(", ")}`
}

/** The refusal by rules: what in the call they deny. */
const forbidden = (
  subject: Subject,
  ask: PermissionAsk,
  tool: Caller,
  { forbids, onlyReads = false }: Partial<Verdict>
) => {
  const rules = decidingRules(subject, tool, ask, "deny")
  const isPlanned = rules.some((rule) => isOfPlan(subject, rule))
  const what = `${ask.permission} (${(forbids ?? ask.patterns).join(", ")})`
  const edits = `${isPlanned ? "plan mode forbids edits" : "edits are denied here"}${toldOrigins(rules)}`
  if (onlyReads && tool.opaque === true) {
    return denied(ask, "rule", false, `Permission denied: ${tool.name} may change files, and ${edits}.`)
  }
  if (ask.permission === "bash_write") {
    return denied(ask, "rule", false, `Permission denied: ${what}, because ${edits}. Leave "write" out of needs.`)
  }
  const why = onlyReads ? " Edits are denied here, and without a sandbox only commands that are known to read run." : ""
  const by = isPlanned ? "plan mode" : "a rule"
  return denied(ask, "rule", false, `Permission denied: ${by} forbids ${what} here${toldOrigins(rules)}.${why}`)
}

/** What only a person may allow, each time anew. */
const alwaysAsks = (ask: PermissionAsk): boolean => ask.protected === true || ask.permission === "doom_loop"

/** What `auto` allows: not that, unless the user asked for it, nor what would show credentials, nor a line that may be what a rule denies. */
const autoAllows = (subject: Subject, tool: Caller, ask: PermissionAsk): boolean =>
  (!alwaysAsks(ask) || ask.requested === true) && ask.permission !== "bash_credentials" &&
  !mayBeDenied(subject, tool, ask)

/** Why such a call is asked, or refused. */
const hidden = "a rule denies some commands or files, and Skein cannot see whether this line runs or reads one of them."

/** The rule that would allow it, where there is one. */
const allowedBy = ({ beginnings = {}, patterns, runsProject = [] }: PermissionAsk): string => {
  const named = patterns.flatMap((pattern) =>
    beginnings[pattern] ?? (runsProject.includes(pattern) ? programOf(pattern) : [])
  )
  return named.length === 0
    ? ""
    : ` A rule of the user's may allow it: ${named.map((each) => `"${each} *"`).join(", ")}.`
}

const placeOf = ({ path, session }: Subject): HookPlace => ({
  sessionID: session.id,
  rootID: session.rootID,
  path,
  cwd: session.directory
})

/** What is shown with a question; also which rule would allow the call. */
const explained = (
  subject: Subject,
  tool: Caller,
  ask: PermissionAsk,
  { hides }: Verdict
): PermissionAsk["metadata"] => {
  const { reason, reasons } = ask.metadata
  const given: ReadonlyArray<unknown> = Array.isArray(reasons) ? reasons : []
  const guarded = ask.protected === true && reason === undefined ? ["Only a person may change what is protected."] : []
  const unseen = hides === true ? [`It is asked because ${hidden}`] : []
  const found = [...guarded, ...unseen, ...given, ...wouldAllow(subject, ask).slice(0, 8)]
  if (found.length > 0) return { ...ask.metadata, reasons: found }
  const [rule] = reason === undefined ? decidingRules(subject, tool, ask, "ask") : []
  return rule === undefined ? ask.metadata : { ...ask.metadata, reasons: [`A rule asks: ${toldRule(rule)}.`] }
}

/** Makes the service. */
export const makeBroker = (options: Pick<PermissionOptions, "checkouts" | "home" | "real">) =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const storage = yield* SessionStorage
    const ids = yield* Ids
    const answerer = yield* Answerer
    const lifetime = yield* Effect.scope
    const holding = yield* makeHolding
    const approvals = yield* makeApprovals(holding)
    const pathsOf = makeSessionPaths(options)

    const atHome = (subject: Subject): Subject => {
      const { namesOf, place } = pathsOf(subject.session)
      return {
        ...subject,
        namesOf,
        rules: place(subject.rules),
        ceilings: subject.ceilings.map(place),
        ...(subject.earlier === undefined ? {} : { earlier: subject.earlier.map(place) })
      }
    }

    /**
     * The current rules, however long ago the call began: ceilings may have narrowed while somebody thought about it.
     */
    const present = (given: Subject) => Effect.map(given.now ?? Effect.succeed(given), atHome)

    /** What rules, approvals, mode and sandbox say. */
    const weigh = (given: Subject, tool: Caller, ask: PermissionAsk) =>
      Effect.flatMap(present(given), (subject) =>
        Effect.map(
          weighCall(subject, tool, ask, holding.in(subject.session)),
          (verdict) => ({ ...verdict, subject })
        ))

    const decide = (given: Subject, tool: Caller, ask: PermissionAsk, decidedBy?: (rules: Ruleset) => void) =>
      Effect.map(weigh(given, tool, ask), ({ action, by, subject }) => {
        if (by !== undefined) ask.allowed?.(by)
        decidedBy?.(decidingRules(subject, tool, ask, action))
        return action
      })

    const tell = ({ request, subject }: Pick<WaitingAsk, "request" | "subject">) =>
      failpoint("perm_before_commit").pipe(
        Effect.zipRight(journal.commit([journal.fact(subject.session, "permission.asked", request)])),
        Effect.zipLeft(failpoint("perm_pending"))
      )

    const tellReply = (
      { request: { id }, subject }: Pick<WaitingAsk, "request" | "subject">,
      answer: Answer,
      also: ReadonlyArray<Entry> = []
    ) =>
      Effect.zipLeft(
        journal.commit([...also, journal.fact(subject.session, "permission.replied", { id, ...answer })]),
        failpoint("perm_reply_committed")
      )

    const waiting = makeWaitingAsks({ asked: tell, replied: tellReply })

    const askNobody = Effect.fnUntraced(function*(
      subject: Subject,
      request: PermissionRequest,
      ask: PermissionAsk,
      isHidden: boolean
    ) {
      const why = isHidden
        ? `because ${hidden} Call the program itself, with its words written out.${allowedBy(ask)}`
        : "and Skein cannot ask anyone here."
      const message = `Permission denied: ${ask.permission} (${
        ask.patterns.join(", ")
      }) needs a person's consent, ${why}`
      yield* tell({ request, subject })
      yield* tellReply({ request, subject }, { reply: "reject", message })
      return yield* denied(ask, "nobody", false, message)
    })

    const apply = (ask: PermissionAsk, { by = "person", message, reply: given }: Answer) =>
      given !== "reject" ? Effect.succeed<Allowance>(by) : denied(
        ask,
        "rejected",
        message === undefined,
        message === undefined ? "Permission denied." : `Permission denied. The user says: ${message}`
      )

    /** Consent lifts no denial, neither an earlier one nor one that arrived during the wait. */
    const unlessDenied = (subject: Subject, tool: Caller, ask: PermissionAsk) =>
      Effect.flatMap(
        weigh(subject, tool, ask),
        (verdict) => verdict.action === "deny" ? forbidden(verdict.subject, ask, tool, verdict) : Effect.void
      )

    const settle = Effect.fnUntraced(function*(
      subject: Subject,
      tool: Caller,
      ask: PermissionAsk,
      call?: AskingCall
    ) {
      const verdict = yield* weigh(subject, tool, ask)
      const { action, lasts } = verdict
      if (action === "allow") return verdict.by ?? "rule"
      if (action === "deny") return yield* forbidden(verdict.subject, ask, tool, verdict)
      const before = call?.resumes === true
        ? yield* Effect.provideService(
          askedBefore(subject.session.rootID, call.partID, ask),
          SessionStorage,
          storage
        )
        : undefined
      if (before?.answer !== undefined) return yield* apply(ask, answerOf(before.answer))
      const request: PermissionRequest = before?.request ?? {
        id: yield* ids.make("per"),
        ...(call === undefined ? {} : { partID: call.partID }),
        sessionID: subject.session.id,
        rootID: subject.session.rootID,
        path: subject.path,
        ...(yield* askedIn(storage, subject.session.id, subject.session.rootID)),
        permission: ask.permission,
        patterns: ask.patterns,
        always: lasts ? ask.always : [],
        ...(autoAllows(subject, tool, ask) ? {} : { needsPerson: true as const }),
        metadata: explained(verdict.subject, tool, ask, verdict)
      }
      const hooks = yield* Hooks
      const caller = { name: tool.name, permission: ask.permission }
      if (hooks.isRegistered("PermissionRequest", caller)) {
        const { allows, changed } = yield* Effect.mapError(
          hooks.permissionRequest(placeOf(subject), caller, request, call?.about),
          ({ endsTurn = false, message }) => denied(ask, "hook", endsTurn, message)
        )
        if (allows && !alwaysAsks(ask)) {
          yield* unlessDenied(subject, tool, ask)
          if (changed === undefined) return "hook"
          if (call?.changed !== undefined) {
            call.changed(changed.input)
            return "hook"
          }
          const why = "Permission denied: a hook changes the arguments of a call whose arguments cannot change here."
          return yield* denied(ask, "hook", false, why)
        }
      }
      const asks = (yield* present(subject)).mode === "auto" ? "auto" : answerer.of(subject.session.rootID)
      if (asks === "auto" && autoAllows(subject, tool, ask)) return "mode"
      if (hooks.isRegistered("Notification", caller)) {
        const notified = hooks.notification(placeOf(subject), caller, request, call?.about)
        // The question does not wait for the notification. Without a question, the program might end before the
        // notification is published.
        yield* asks === "person" ? Effect.forkIn(notified, lifetime) : notified
      }
      if (asks !== "person") {
        return yield* askNobody(
          subject,
          request,
          ask,
          verdict.hides === true || (asks === "auto" && mayBeDenied(subject, tool, ask))
        )
      }
      const now = yield* Clock.currentTimeMillis
      const left = before === undefined
        ? patience
        : Duration.clamp(Duration.millis(before.at + Duration.toMillis(patience) - now), patienceAgain)
      const by = yield* apply(ask, yield* waiting.wait({ request, subject, tool, ask }, left))
      yield* unlessDenied(subject, tool, ask)
      return by
    })

    const authorise = (subject: Subject, tool: Caller, ask: PermissionAsk, call?: AskingCall) =>
      Effect.map(settle(subject, tool, ask, call), (by) => ask.allowed?.(by))

    /** Answers open questions that an approval or another mode now covers. */
    const lookAgain = Effect.fnUntraced(function*(concerns: (subject: Subject) => boolean) {
      for (const { ask, request, subject, tool } of waiting.all()) {
        if (!concerns(subject)) continue
        const { action, by = "mode", subject: now } = yield* weigh(subject, tool, ask)
        const isAuto = autoAllows(subject, tool, ask) && (yield* present(subject)).mode === "auto"
        if (action === "allow" || (action === "ask" && isAuto)) yield* waiting.answer(request.id, { reply: "once", by })
        if (action === "deny") {
          const rules = toldOrigins(decidingRules(now, tool, ask, "deny"))
          yield* waiting.answer(request.id, { reply: "reject", message: `A rule forbids it now${rules}.` })
        }
      }
    })

    const reply = Effect.fn("Permission.reply")(function*(
      id: PermissionID,
      answer: PermissionReply,
      { message, scope = "tree" }: { readonly message?: string; readonly scope?: "tree" | "project" } = {}
    ) {
      const found = waiting.find(id)
      if (found === undefined) return yield* noQuestion(id)
      const { projectID, rootID } = found.subject.session
      // If nothing can be stored, `always` was never offered.
      const lasts = answer === "always" && found.request.always.length > 0
      const given: Answer = {
        reply: answer === "always" && !lasts ? "once" : answer,
        ...(message === undefined ? {} : { message }),
        ...(lasts ? { scope } : {})
      }
      const writes = lasts ? yield* approvals.of(found, scope) : []
      if (!(yield* waiting.answer(id, given, writes))) return yield* noQuestion(id)
      yield* lookAgain(({ session }) =>
        session.rootID === rootID || (lasts && scope === "project" && session.projectID === projectID)
      )
    }, Effect.uninterruptible)

    return {
      decide,
      authorise,
      atHome,
      readAction: (given: Subject) =>
        // Made only where it is run: every call has one, and few run it.
        Effect.suspend(() =>
          Effect.flatMap(present(given), (subject) =>
            Effect.map(
              holding.in(subject.session),
              (approved) => readActionOf(subject, approved)
            ))
        ),
      offered: isOffered,
      denies: (given: Subject, tool: Caller, ask: PermissionAsk) => isDenied(atHome(given), tool, ask),
      reply,
      reconsider: (rootID: SessionID) => lookAgain(({ session }) => session.rootID === rootID),
      pending: (rootID?: SessionID) =>
        Effect.sync(() =>
          waiting.stored().map(({ request }) => request).filter((each) =>
            rootID === undefined || each.rootID === rootID
          )
        ),
      approvals: (projectID: string, rootID?: SessionID) =>
        rootID === undefined ? storage.approvals(projectID) : holding.in({ projectID, rootID }),
      revoke: approvals.revoke
    }
  })
