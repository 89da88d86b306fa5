/** Decides what rules, approvals, the mode and the sandbox say of a call, before anybody is asked. */
import { mayEdit } from "@skein/domain/Mode"
import type { Action, Rule } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { type Caller, isNarrow, stricter, type Subject } from "../../Ruleset.ts"
import type { StorageError } from "../../StorageError.ts"
import type { Allowance, PermissionAsk } from "../../Tool.ts"
import type { Approval } from "../../Write.ts"
import { isApproved } from "./approvals.ts"
import {
  asksOnlyBy,
  byOtherWords,
  byRules,
  isClosedTo,
  isDefault,
  mayBeDenied,
  mustRead,
  readsOnly,
  restrictsBash
} from "./verdict.ts"

/** What is decided of a call. */
export interface Verdict {
  readonly action: Action
  /** What allows it, where it is allowed. */
  readonly by?: Allowance
  /** Whether an approval of it could ever count. */
  readonly lasts: boolean
  /** Of what is denied the patterns that rules speak of. */
  readonly forbids?: ReadonlyArray<string>
  /** Whether it was denied because edits are. */
  readonly onlyReads?: boolean
  /** Whether it is asked only because it may run what a rule denies. */
  readonly hides?: boolean
}

/** Whether the mode allows what rules only ask for by default. */
const modeAllows = (subject: Subject, tool: Caller, ask: PermissionAsk): boolean =>
  subject.mode === "edits" && (
    // Who chooses the mode answers for all edits; a rule that names some of them still asks.
    (ask.permission === "edit" && asksOnlyBy(subject, tool, ask, (rule) => !isNarrow(rule)))
    || (ask.permission === "bash_write" && asksOnlyBy(subject, tool, ask, isDefault))
  )

/** Whether the sandbox answers: nothing but the default asks for the command, and what it could do is bounded. */
const sandboxAnswers = (subject: Subject, tool: Caller, ask: PermissionAsk): boolean =>
  ask.sandbox !== undefined
  && (ask.sandbox === "anyMode" || mayEdit(subject.mode))
  // What a line does that is not all known may be what a rule names.
  && (ask.unclear !== true || !restrictsBash(subject))
  && asksOnlyBy(subject, tool, ask, isDefault)

/** Whether a rule of the user's allows all commands. */
const allowsAllBash = (rule: Rule): boolean =>
  rule.action === "allow" && !isNarrow(rule) && !isDefault(rule)
  && (rule.permission === "bash" || !isNarrow({ ...rule, pattern: rule.permission }))

const allowed = (by: Allowance, lasts: boolean): Verdict => ({ action: "allow", by, lasts })

/** Whether rules deny some of a call: nothing else is heard then. */
export const isDenied = (subject: Subject, tool: Caller, ask: PermissionAsk): boolean =>
  byRules(subject, tool, ask).reduce<Action>(stricter, byOtherWords(subject, tool, ask)) === "deny"

/** Weighs a call; `approvals` are those that hold for it. */
export const weigh = <E = StorageError>(
  subject: Subject,
  tool: Caller,
  ask: PermissionAsk,
  approvals: Effect.Effect<ReadonlyArray<Approval>, E>
): Effect.Effect<Verdict, E> =>
  Effect.suspend(() => {
    const actions = byRules(subject, tool, ask)
    const inOtherWords = byOtherWords(subject, tool, ask)
    const strictest = actions.reduce<Action>(stricter, inOtherWords)
    const onlyPerson = ask.protected === true || ask.insists === true
    const lasts = !onlyPerson && ask.unclear !== true && ask.permission !== "doom_loop" && inOtherWords !== "ask"
    const asks = Effect.succeed<Verdict>({ action: "ask", lasts })
    if ((ask.permission === "bash_write" && readsOnly(subject)) || isClosedTo(subject, tool)) {
      return Effect.succeed<Verdict>({ action: "deny", lasts, onlyReads: true })
    }
    if (strictest === "deny") {
      const forbids = ask.patterns.filter((_, at) => actions[at] === "deny")
      return Effect.succeed<Verdict>({
        action: "deny",
        lasts,
        ...(forbids.length === 0 ? {} : { forbids }),
        onlyReads: mustRead(subject, ask)
      })
    }
    if (onlyPerson) return asks
    const hides = ask.consented !== true && mayBeDenied(subject, tool, ask)
    if (subject.mode === "auto" && hides) return asks
    const isUnseen = hides && strictest === "allow"
    if (ask.needless?.() === true) return Effect.succeed(allowed("rule", lasts))
    if (ask.unclear !== true) {
      if (ask.consented === true || (strictest === "allow" && !isUnseen)) return Effect.succeed(allowed("rule", lasts))
      if (inOtherWords === "ask") return asks
    }
    if (modeAllows(subject, tool, ask)) return Effect.succeed(allowed("mode", lasts))
    const byItself = () => {
      if (!isUnseen && !sandboxAnswers(subject, tool, ask)) return asks
      if (hides) return Effect.succeed<Verdict>({ action: "ask", lasts, hides })
      return Effect.succeed(allowed(subject.rules.some(allowsAllBash) ? "rule" : "sandbox", lasts))
    }
    if (ask.unclear === true) return inOtherWords === "ask" ? asks : byItself()
    return Effect.flatMap(approvals, (approved) =>
      isApproved(
          approved,
          ask,
          ask.patterns.filter((_, at) => isUnseen || actions[at] === "ask")
        )
        ? Effect.succeed(allowed("rule", lasts))
        : byItself())
  })

const readCaller: Caller = { name: "read", permission: "read" }

/** Says of files what these rules and approvals make of reading them. */
export const readActionOf = (subject: Subject, approved: ReadonlyArray<Approval>) => (path: string): Action => {
  const ask: PermissionAsk = { permission: "read", patterns: [path], always: [], metadata: {} }
  const [action = "ask"] = byRules(subject, readCaller, ask)
  return action === "ask" && isApproved(approved, ask, ask.patterns) ? "allow" : action
}
