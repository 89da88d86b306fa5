/** Decides what standard error says when a run has ended: what went wrong, and how to continue. */
import { escapeLine } from "@skein/tui/Escape"
import { errorLine } from "../explain.ts"
import type { Denials } from "./progress.ts"
import type { RunResult } from "./result.ts"

/** The flag that sets a new budget. */
const budgetFlags: Readonly<Record<string, string>> = { tokens: " --budget-tokens N", usd: " --budget-usd USD" }

/** Errors that the same model answers with again. */
const ofModel: ReadonlySet<string> = new Set([
  "invalid_request",
  "reasoning_refused",
  "context_overflow",
  "ContextOverflow"
])

/** What to do first about errors that come again until then. */
const before: Readonly<Record<string, string>> = { auth: " Then", rate_limit: " Wait, then" }

/** How to continue a session that did not finish; `way` are the flags that reach it. */
const resume = ({ error, outcome, sessionID, stored }: RunResult, way: string): string => {
  if (sessionID === undefined || stored === false || outcome === "denied") return ""
  const tag = error?.tag ?? ""
  if (tag === "held" || outcome === "left") return ` See its progress with \`skein sessions show ${sessionID}${way}\`.`
  if (ofModel.has(tag)) {
    return ` Continue with another model: \`skein sessions resume ${sessionID}${way} -m PROVIDER/MODEL\`.`
  }
  const first = before[tag]
  if (first !== undefined) return `${first} continue with \`skein sessions resume ${sessionID}${way}\`.`
  return ` Continue with \`skein sessions resume ${sessionID}${way}${budgetFlags[error?.which ?? ""] ?? ""}\`.${
    outcome === "stopped" ? " It asks the agent to continue; stopped tasks stay stopped." : ""
  }`
}

/** What went wrong, and how to continue. The message of an exhausted budget names the flag that the command has. */
const failure = (message: string, result: RunResult, way: string): string => {
  const next = resume(result, way)
  return message.endsWith(").") && (result.error?.which ?? "") in budgetFlags
    ? `${message.slice(0, -1)}${next.replace(" Continue with", ":")}`
    : message + next
}

/** Who could be asked during the run. */
interface Asked {
  readonly auto: boolean
  readonly canAsk: boolean
  /** Whether a person watches, even if the terminal cannot ask questions. */
  readonly onTerminal: boolean
}

/** How to permit it without a question. The rules come last, to be copied. */
const unasked = ({ isWhole, rules, toChange }: Denials["remedy"]): string => {
  const change = toChange.length === 0
    ? []
    : [`change the project's rule that asks, which your config cannot lift (${escapeLine(toChange.join(", "))})`]
  const what = change.length > 0 ? "the rest" : isWhole ? "it" : "some of it"
  const allow = rules === undefined ? [] : [`allow ${what} in your config: ${escapeLine(rules)}`]
  const ways = ["pass --auto", ...change, ...allow]
  return `${ways.slice(0, -1).map((way) => `${way}, `).join("")}${ways.length > 1 ? "or " : ""}${ways.at(-1)}${
    rules === undefined ? "." : ""
  }`
}

/** How to permit what was denied. A person who rejected it needs no hint. */
const advice = ({ auto, canAsk, onTerminal }: Asked, { autoHelps, remedy }: Denials): string => {
  if (auto) {
    return onTerminal
      ? " --auto does not allow that. Run it without --auto to be asked."
      : " --auto does not allow that. Run it on a terminal without --auto to be asked."
  }
  if (canAsk) return ""
  const allow = autoHelps ? unasked(remedy) : "--auto does not allow that."
  const always = !remedy.canLast ? "" : ", where \"always in this project\" lasts"
  // The terminal cannot draw, or the format is for programs: a terminal alone would not help.
  return onTerminal
    ? ` Skein cannot ask you questions here (--format, or TERM=dumb): ${allow}`
    : ` Run it on a terminal to be asked${always}${autoHelps ? "," : ":"} ${allow}`
}

/** The tasks that --no-wait interrupted, and how to continue them. */
const interruptedLines = (
  { interrupted = [], sessionID, stored }: RunResult,
  way: string
): ReadonlyArray<string> =>
  interrupted.length === 0 || stored === false || sessionID === undefined ? [] : [
    ...interrupted.map(({ agent, description, task_id }) =>
      errorLine(`The background task ${JSON.stringify(escapeLine(description))} (${task_id}, ${agent}) is interrupted.`)
    ),
    errorLine(`Continue with \`skein sessions resume ${sessionID}${way}\`, or with the next prompt in this session.`)
  ]

/** The tasks that continue on a server. */
const continuingLines = ({ continuing = [] }: RunResult, way: string): ReadonlyArray<string> =>
  continuing.map(({ agent, description, task_id }) =>
    errorLine(
      `The background task ${
        JSON.stringify(escapeLine(description))
      } (${task_id}, ${agent}) continues on the server. Wait for it with \`skein tasks wait ${task_id}${way}\`.`
    )
  )

/** Why an answer that counts as complete may not be. */
const cuts: Readonly<Record<string, string>> = {
  length: "The answer was cut off: the model reached its output limit.",
  "content-filter": "The answer was cut off: the provider's content filter ended it."
}

const cutLines = ({ error, finish, outcome }: RunResult): ReadonlyArray<string> => {
  const cut = outcome === "completed" && error === undefined ? cuts[finish ?? ""] : undefined
  return cut === undefined ? [] : [errorLine(cut)]
}

/** The lines; none if all is well, or if nobody reads them. */
export const closingLines = (
  result: RunResult,
  denials: Denials,
  asked: Asked & {
    readonly readerIsGone: boolean
    /** The flags with which other commands reach the session. */
    readonly way: string
  }
): ReadonlyArray<string> => {
  if (asked.readerIsGone) return []
  const { way } = asked
  if (result.error?.tag === "denied" && asked.canAsk && denials.count > 0 && result.sessionID !== undefined) {
    const calls = `${denials.count} ${denials.count === 1 ? "call" : "calls"}`
    const next = result.stored === false ? "" : ` Continue with: skein run -s ${result.sessionID}${way} "…"`
    return [errorLine(`You said no to ${calls}, so the turn ended.${next}`), ...interruptedLines(result, way)]
  }
  const denied = denials.count === 0
    ? []
    : [errorLine(`${escapeLine(denials.summary)}.${advice(asked, denials)}`)]
  const failed = result.error === undefined ? [] : [errorLine(failure(result.error.message, result, way))]
  return [...cutLines(result), ...denied, ...failed, ...interruptedLines(result, way), ...continuingLines(result, way)]
}
