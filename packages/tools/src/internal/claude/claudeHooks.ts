/** Adapts hooks that are written for Claude Code: translates events into its format, and answers into Skein's. */
import { type Hook, on } from "@skein/core/Hooks"
import type { HookAnswer, HookEvent, HookPayload } from "@skein/domain/Hook"
import type { ClaudeHook, ClaudeHooksConfig } from "@skein/domain/HookConfig"
import type { SessionID } from "@skein/domain/Id"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { HookEnd } from "../shell/hookProcess.ts"
import {
  type ClaudeAnswer,
  claudeAnswer,
  type ClaudeCall,
  claudeCalls,
  type ClaudeEvent,
  claudeMatcher,
  ownInput,
  supportsContinue
} from "./claudeFormat.ts"

/** A hook failed. */
class ClaudeHookFailed extends Data.TaggedError("ClaudeHookFailed")<{ readonly message: string }> {}

/**
 * Timeouts in seconds: the default of a hook, the default at the end of a session, and the limit for all hooks of one
 * event.
 */
const times = { usual: 60, end: 1.5, all: 7_200 }

/** What the hooks need. */
export interface ClaudeHookOptions {
  /** Shows a line to the user. */
  readonly tell: (line: string) => Effect.Effect<void>
  /** Whether questions are answered with yes, which Claude Code calls `bypassPermissions`. */
  readonly bypasses: (rootID: SessionID) => Effect.Effect<boolean>
}

/** Runs a command with this input in the session's directory. */
export type RunCommand = (
  command: string
) => (input: string, cwd: string) => Effect.Effect<HookEnd, { readonly message: string }>

interface Registered {
  readonly hook: ClaudeHook
  readonly means: (name: string) => Either.Either<boolean, string>
  readonly run: ReturnType<RunCommand>
}

/** One command to run, and its input. */
interface Job extends Pick<Registered, "hook" | "run"> {
  readonly told: Readonly<Record<string, unknown>>
  readonly call?: ClaudeCall
}

interface Answered {
  readonly job: Job
  readonly answer: ClaudeAnswer
}

const failed = ({ command }: ClaudeHook, why: string) => new ClaudeHookFailed({ message: `${command}: ${why}` })

/** The first of these names that a matcher matches. */
const meant = ({ hook, means }: Registered, names: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    for (const name of names) {
      if (yield* Effect.mapError(means(name), (why) => failed(hook, why))) return name
    }
    return undefined
  })

/** The maximum length of a message for the user, in characters. */
const longestMessage = 2_000

/** Shows the messages of hooks to the user. Logs once for each hook which fields of its answers have no effect. */
const makeRemarks = ({ tell }: ClaudeHookOptions) => {
  const known = new Set<string>()
  return ({ answer: { ends, message, unknown }, job: { hook: { command } } }: Answered, event: ClaudeEvent) =>
    Effect.gen(function*() {
      const fresh = unknown.filter((field) => !known.has(`${event} ${command} ${field}`))
      for (const field of fresh) known.add(`${event} ${command} ${field}`)
      if (fresh.length > 0) {
        yield* Effect.logWarning(
          `A ${event} hook (${command}) answers with what has no meaning here: ${fresh.join(", ")}.`
        )
      }
      const shown = command.slice(0, 200)
      if (message !== undefined && message.trim() !== "") {
        yield* tell(`${event} hook (${shown}): ${message.slice(0, longestMessage)}`)
      }
      // Always show why a prompt was refused.
      if (ends !== undefined && supportsContinue(event) && event !== "UserPromptSubmit") {
        yield* tell(`${event} hook (${shown}) ends the turn: ${ends.slice(0, longestMessage)}`)
      }
    })
}

const commonOf = (event: ClaudeEvent, { cwd, path, rootID, sessionID }: HookPayload, bypasses: boolean) => ({
  // In Claude Code, subagents have the id of their root session.
  session_id: rootID,
  // Skein has no such file.
  transcript_path: "",
  cwd,
  permission_mode: path.at(-1) === "plan" ? "plan" : bypasses ? "bypassPermissions" : "default",
  hook_event_name: event,
  ...(path.length > 1 ? { agent_id: sessionID, agent_type: path.at(-1) ?? "" } : {})
})

const responseOf = (tool: string, { input, output }: HookPayload<"PostToolUse">, call: ClaudeCall): unknown => {
  if (tool === "bash") return { stdout: output, stderr: "", interrupted: false, isImage: false }
  const path = (call.input as { readonly file_path?: unknown } | undefined)?.file_path
  return path === undefined || input === undefined ? { output } : { filePath: path, success: true, output }
}

/** A call that may change or was changed, as its hooks see it. */
type CallPayload = HookPayload<"PreToolUse"> | HookPayload<"PermissionRequest"> | HookPayload<"PostToolUse">

/** What hooks get, once for each call. Their matchers are compared with these names; without any, all of them run. */
interface About {
  readonly names: ReadonlyArray<string>
  readonly told: (name: string | undefined) => object
  readonly call?: ClaudeCall
}

const aboutCalls = (payload: CallPayload): ReadonlyArray<About> =>
  claudeCalls(payload.tool, payload.input, payload.cwd).map((call) => ({
    names: call.names,
    call,
    told: (name) => ({
      tool_name: name,
      tool_input: call.input ?? {},
      ...(payload.callID === undefined ? {} : { tool_use_id: payload.callID }),
      ...(payload.event === "PreToolUse"
        ? {}
        : payload.event === "PermissionRequest"
        ? { permission_suggestions: [] }
        : payload.failed === true
        ? { error: payload.output }
        : { tool_response: responseOf(payload.tool, payload, call) })
    })
  }))

const aboutsOf = (payload: HookPayload): ReadonlyArray<About> => {
  const agent = payload.path.at(-1) ?? ""
  const one = (names: ReadonlyArray<string>, told: object): ReadonlyArray<About> => [{ names, told: () => told }]
  switch (payload.event) {
    case "PreToolUse":
    case "PermissionRequest":
    case "PostToolUse":
      return aboutCalls(payload)
    case "SessionStart":
      return one([payload.source], { source: payload.source })
    case "SessionEnd":
      return one(["other"], { reason: "other" })
    case "UserPromptSubmit":
      return one([], { prompt: payload.prompt })
    case "Stop":
    case "SubagentStop":
      return one(payload.event === "Stop" ? [] : [agent], {
        stop_hook_active: payload.again === true,
        last_assistant_message: payload.output
      })
    case "SubagentStart":
      return one([agent], {})
    case "PreCompact":
      return one([payload.trigger], { trigger: payload.trigger, custom_instructions: "" })
    case "Notification":
      return one(["permission_prompt"], {
        message: `Skein needs your permission to use ${payload.tool}`,
        notification_type: "permission_prompt"
      })
    default:
      return []
  }
}

const reasonOf = ({ ends, reason }: ClaudeAnswer): string => ends ?? reason ?? ""

const contextsOf = (answers: ReadonlyArray<Answered>) => {
  const texts = answers.flatMap(({ answer }) => answer.context === undefined ? [] : [answer.context])
  return texts.length === 0 ? {} : { context: texts.join("\n\n") }
}

/**
 * Whether hooks allow a call. If it corresponds to several calls there, such as edits of several files, they have to
 * allow each.
 */
const allowed = (
  { cwd, input, tool }: HookPayload<"PreToolUse"> | HookPayload<"PermissionRequest">,
  answers: ReadonlyArray<Answered>
): boolean => {
  const allows = new Set(
    answers.flatMap(({ answer, job }) => answer.decision === "allow" ? [JSON.stringify(job.call)] : [])
  )
  const calls = claudeCalls(tool, input, cwd)
  return calls.length > 0 && calls.every((call) => allows.has(JSON.stringify(call)))
}

/** Whether one of these ends the turn. */
const endOf = (answers: ReadonlyArray<Answered>) =>
  answers.some(({ answer }) => answer.ends !== undefined) ? { endsTurn: true as const } : {}

/** The refusal of a hook, if one refuses. */
const denialIn = (answers: ReadonlyArray<Answered>) => {
  const denies = answers.find(({ answer }) => answer.ends !== undefined || answer.decision === "deny")
  return denies === undefined ? undefined : { decision: "deny" as const, reason: reasonOf(denies.answer) }
}

/** The arguments that a hook puts in place of those of a call. */
const inputOf = (tool: string, changed: Answered | undefined) => {
  if (changed?.answer.input === undefined) return Effect.succeed({})
  return changed.job.call?.changeable === false
    ? failed(changed.job.hook, "it changes a patch, which cannot be turned back into one")
    : Effect.succeed({ input: ownInput(tool, changed.answer.input) })
}

const preToolUse = Effect.fnUntraced(
  function*(answers: ReadonlyArray<Answered>, payload: HookPayload<"PreToolUse">) {
    const denial = denialIn(answers)
    if (denial !== undefined) return { ...denial, ...endOf(answers) }
    const input = yield* inputOf(payload.tool, answers.findLast(({ answer }) => answer.input !== undefined))
    const more = { ...input, ...contextsOf(answers) }
    const asks = answers.find(({ answer }) => answer.decision === "ask")
    if (asks !== undefined) {
      return { decision: "ask" as const, reason: asks.answer.reason ?? "A hook asks for consent.", ...more }
    }
    return allowed(payload, answers) ? { ...more, consent: true as const } : more
  }
)

const permissionRequest = Effect.fnUntraced(
  function*(answers: ReadonlyArray<Answered>, payload: HookPayload<"PermissionRequest">) {
    const denial = denialIn(answers)
    if (denial !== undefined) return { ...denial, ...endOf(answers) }
    if (!allowed(payload, answers)) return undefined
    const changed = answers.findLast(({ answer }) => answer.decision === "allow" && answer.input !== undefined)
    return { decision: "allow" as const, ...(yield* inputOf(payload.tool, changed)) }
  }
)

const postToolUse = (answers: ReadonlyArray<Answered>, { output }: HookPayload<"PostToolUse">) => {
  const words = answers.flatMap(({ answer }) => [
    ...(answer.decision === "deny" ? [answer.reason ?? ""] : []),
    ...(answer.context === undefined ? [] : [answer.context])
  ]).filter((text) => text !== "")
  const said = words.map((text) => `A hook says of this call: ${text}`)
  return Effect.succeed({
    ...endOf(answers),
    ...(words.length === 0 ? {} : { output: [output, ...said].join("\n\n") })
  })
}

const stop = (answers: ReadonlyArray<Answered>) => {
  const reasons = answers.flatMap(({ answer }) => answer.decision === "deny" ? [answer.reason ?? ""] : [])
  // If hooks disagree, ending the turn wins over continuing it.
  const goesOn = reasons.length > 0 && answers.every(({ answer }) => answer.ends === undefined)
  return Effect.succeed(goesOn ? { decision: "deny" as const, reason: reasons.join("\n\n") } : undefined)
}

const nothing = () => Effect.succeed(undefined)

const contexts = (answers: ReadonlyArray<Answered>) => Effect.succeed(contextsOf(answers))

/** Makes the hooks of a config. */
export const claudeHooks = (
  config: ClaudeHooksConfig,
  command: RunCommand,
  given: ClaudeHookOptions
): ReadonlyArray<Hook> => {
  const remarks = makeRemarks(given)

  const registered = (event: ClaudeEvent): ReadonlyArray<Registered> =>
    (config[event] ?? []).flatMap(({ hooks, matcher }) => {
      const means = claudeMatcher(matcher)
      return hooks.map((hook) => ({ hook, means, run: command(hook.command) }))
    })

  const one = (event: ClaudeEvent, cwd: string) => (job: Job) =>
    Effect.gen(function*() {
      const { hook, run, told } = job
      const seconds = hook.timeout ?? (event === "SessionEnd" ? times.end : times.usual)
      const end = yield* run(`${JSON.stringify(told)}\n`, cwd).pipe(
        Effect.mapError(({ message }) => failed(hook, message)),
        Effect.timeoutFail({
          duration: seconds * 1_000,
          onTimeout: () => failed(hook, `it did not answer within ${seconds} s`)
        })
      )
      const answer = yield* Effect.mapError(claudeAnswer(event, end), (why) => failed(hook, why))
      const answered: Answered = { job, answer }
      yield* remarks(answered, event)
      return answered
    })

  /** Runs hooks in parallel, each command once for each input. Where hooks decide about a call, one failure fails all. */
  const answersOf = Effect.fnUntraced(
    function*(event: ClaudeEvent, hooks: ReadonlyArray<Registered>, payload: HookPayload) {
      const common = commonOf(event, payload, yield* given.bypasses(payload.rootID))
      const jobs = new Map<string, Job>()
      for (const { call, names, told } of aboutsOf(payload)) {
        for (const each of hooks) {
          const name = yield* meant(each, names)
          if (name === undefined && names.length > 0) continue
          const { hook, run } = each
          const job: Job = { hook, run, told: { ...common, ...told(name) }, ...(call === undefined ? {} : { call }) }
          jobs.set(JSON.stringify([hook.command, job.told]), job)
        }
      }
      const reported = (error: ClaudeHookFailed) =>
        Effect.as(Effect.logError(`A ${event} hook failed: ${error.message}. Fix it, or remove it.`), [])
      const isStrict = event === "PreToolUse" || event === "PermissionRequest"
      const answers = yield* Effect.forEach(jobs.values(), (job) => {
        const answer = Effect.map(one(event, payload.cwd)(job), (answered) => [answered])
        return isStrict ? answer : Effect.catchAll(answer, reported)
      }, { concurrency: "unbounded" })
      return answers.flat()
    }
  )

  /** Listens to an event. A call that failed is an event of its own there. */
  const listen = <E extends HookEvent & ClaudeEvent>(
    event: E,
    respond: (
      answers: ReadonlyArray<Answered>,
      payload: HookPayload<E>
    ) => Effect.Effect<HookAnswer<E> | undefined, ClaudeHookFailed>
  ): ReadonlyArray<Hook> => {
    const [usual, failure] = [registered(event), event === "PostToolUse" ? registered("PostToolUseFailure") : []]
    const run = (payload: HookPayload<E>) => {
      const [name, hooks] = "failed" in payload && payload.failed === true
        ? ["PostToolUseFailure" as const, failure]
        : [event, usual]
      return Effect.flatMap(answersOf(name, hooks, payload), (answers) => respond(answers, payload))
    }
    return usual.length + failure.length === 0 ? [] : [on(event, run as Hook["run"], options)]
  }

  return [
    listen("SessionStart", contexts),
    listen("UserPromptSubmit", (answers) => Effect.succeed(denialIn(answers) ?? contextsOf(answers))),
    listen("PreToolUse", preToolUse),
    listen("PermissionRequest", permissionRequest),
    listen("PostToolUse", postToolUse),
    listen("Stop", stop),
    listen("PreCompact", nothing),
    listen("Notification", nothing),
    listen("SubagentStart", contexts),
    listen("SubagentStop", stop),
    listen("SessionEnd", nothing)
  ].flat()
}

const options = { name: "of Claude Code's settings", timeout: times.all * 1_000 }
