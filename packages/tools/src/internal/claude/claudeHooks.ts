/** Adapts hooks that are written for Claude Code: translates events into its format, and answers into Skein's. */
import { type Hook, on } from "@skein/core/Hooks"
import type { HookEvent, HookPayload } from "@skein/domain/Hook"
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

/** The additional fields of each event, and the text that its matcher is compared with. */
const toldOf = (
  event: ClaudeEvent,
  payload: HookPayload
): { readonly names: ReadonlyArray<string>; readonly told: object } => {
  const agent = payload.path.at(-1) ?? ""
  switch (payload.event) {
    case "SessionStart":
      return { names: [payload.source], told: { source: payload.source } }
    case "SessionEnd":
      return { names: ["other"], told: { reason: "other" } }
    case "UserPromptSubmit":
      return { names: [], told: { prompt: payload.prompt } }
    case "Stop":
      return {
        names: [],
        told: { stop_hook_active: payload.again === true, last_assistant_message: payload.output }
      }
    case "SubagentStart":
      return { names: [agent], told: {} }
    case "SubagentStop":
      return {
        names: [agent],
        told: {
          stop_hook_active: payload.again === true,
          last_assistant_message: payload.output
        }
      }
    case "PreCompact":
      return { names: [payload.trigger], told: { trigger: payload.trigger, custom_instructions: "" } }
    case "Notification":
      return {
        names: ["permission_prompt"],
        told: { message: `Skein needs your permission to use ${payload.tool}`, notification_type: "permission_prompt" }
      }
    default:
      return { names: [], told: { event } }
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

  /** Runs all in parallel, each command once for each input. `strict`: one failure fails all. */
  const all = (event: ClaudeEvent, jobs: ReadonlyArray<Job>, cwd: string, strict: boolean) => {
    const once = [...new Map(jobs.map((job) => [JSON.stringify([job.hook.command, job.told]), job])).values()]
    const reported = (error: ClaudeHookFailed) =>
      Effect.as(Effect.logError(`A ${event} hook failed: ${error.message}. Fix it, or remove it.`), [])
    return Effect.map(
      Effect.forEach(
        once,
        (job) => {
          const answer = Effect.map(one(event, cwd)(job), (answered) => [answered])
          return strict ? answer : Effect.catchAll(answer, reported)
        },
        { concurrency: "unbounded" }
      ),
      (answers) => answers.flat()
    )
  }

  const told = Effect.fnUntraced(function*(event: ClaudeEvent, hooks: ReadonlyArray<Registered>, payload: HookPayload) {
    const { names, told: own } = toldOf(event, payload)
    const jobs: Array<Job> = []
    const bypasses = yield* given.bypasses(payload.rootID)
    for (const each of hooks) {
      const isMeant = names.length === 0 || (yield* meant(each, names)) !== undefined
      if (isMeant) {
        jobs.push({
          hook: each.hook,
          run: each.run,
          told: { ...commonOf(event, payload, bypasses), ...own }
        })
      }
    }
    return yield* all(event, jobs, payload.cwd, false)
  })

  const callJobs = Effect.fnUntraced(function*(
    event: ClaudeEvent,
    hooks: ReadonlyArray<Registered>,
    payload: HookPayload<"PreToolUse"> | HookPayload<"PermissionRequest"> | HookPayload<"PostToolUse">
  ) {
    const jobs: Array<Job> = []
    const bypasses = yield* given.bypasses(payload.rootID)
    for (const call of claudeCalls(payload.tool, payload.input, payload.cwd)) {
      for (const each of hooks) {
        const name = yield* meant(each, call.names)
        if (name === undefined) continue
        const after = payload.event === "PreToolUse"
          ? {}
          : payload.event === "PermissionRequest"
          ? { permission_suggestions: [] }
          : payload.failed === true
          ? { error: payload.output }
          : { tool_response: responseOf(payload.tool, payload, call) }
        const { hook, run } = each
        const about = {
          ...commonOf(event, payload, bypasses),
          tool_name: name,
          tool_input: call.input ?? {},
          ...(payload.callID === undefined ? {} : { tool_use_id: payload.callID }),
          ...after
        }
        jobs.push({ hook, run, call, told: about })
      }
    }
    return jobs
  })

  const before = registered("PreToolUse")
  const preToolUse = Effect.fnUntraced(function*(payload: HookPayload<"PreToolUse">) {
    const answers = yield* all("PreToolUse", yield* callJobs("PreToolUse", before, payload), payload.cwd, true)
    const denies = answers.find(({ answer }) => answer.ends !== undefined || answer.decision === "deny")
    if (denies !== undefined) return { decision: "deny" as const, reason: reasonOf(denies.answer), ...endOf(answers) }
    const changes = answers.findLast(({ answer }) => answer.input !== undefined)
    if (changes?.job.call?.changeable === false) {
      return yield* failed(changes.job.hook, "it changes a patch, which cannot be turned back into one")
    }
    const input = changes?.answer.input === undefined ? {} : { input: ownInput(payload.tool, changes.answer.input) }
    const asks = answers.find(({ answer }) => answer.decision === "ask")
    if (asks !== undefined) {
      return {
        decision: "ask" as const,
        reason: asks.answer.reason ?? "A hook asks for consent.",
        ...input,
        ...contextsOf(answers)
      }
    }
    const consent = allowed(payload, answers) ? { consent: true as const } : {}
    return { ...input, ...consent, ...contextsOf(answers) }
  })

  const questions = registered("PermissionRequest")
  const permissionRequest = Effect.fnUntraced(function*(payload: HookPayload<"PermissionRequest">) {
    const event = "PermissionRequest"
    const answers = yield* all(event, yield* callJobs(event, questions, payload), payload.cwd, true)
    const denies = answers.find(({ answer }) => answer.ends !== undefined || answer.decision === "deny")
    if (denies !== undefined) return { decision: "deny" as const, reason: reasonOf(denies.answer), ...endOf(answers) }
    if (!allowed(payload, answers)) return undefined
    const changed = answers.findLast(({ answer }) => answer.decision === "allow" && answer.input !== undefined)
    if (changed?.answer.input === undefined) return { decision: "allow" as const }
    if (changed.job.call?.changeable === false) {
      return yield* failed(changed.job.hook, "it changes a patch, which cannot be turned back into one")
    }
    return { decision: "allow" as const, input: ownInput(payload.tool, changed.answer.input) }
  })

  const [after, afterFailure] = [registered("PostToolUse"), registered("PostToolUseFailure")]
  const postToolUse = Effect.fnUntraced(function*(payload: HookPayload<"PostToolUse">) {
    const [event, hooks] = payload.failed === true
      ? ["PostToolUseFailure" as const, afterFailure]
      : ["PostToolUse" as const, after]
    const answers = yield* all(event, yield* callJobs(event, hooks, payload), payload.cwd, false)
    const words = answers.flatMap(({ answer }) => [
      ...(answer.decision === "deny" ? [answer.reason ?? ""] : []),
      ...(answer.context === undefined ? [] : [answer.context])
    ]).filter((text) => text !== "")
    return words.length === 0
      ? endOf(answers)
      : {
        ...endOf(answers),
        output: [payload.output, ...words.map((text) => `A hook says of this call: ${text}`)].join("\n\n")
      }
  })

  const [starts, prompts, stops] = [registered("SessionStart"), registered("UserPromptSubmit"), registered("Stop")]
  const [subStarts, subStops] = [registered("SubagentStart"), registered("SubagentStop")]
  const sessionStart = (payload: HookPayload<"SessionStart">) =>
    Effect.map(told("SessionStart", starts, payload), contextsOf)

  const userPromptSubmit = (payload: HookPayload<"UserPromptSubmit">) =>
    Effect.map(told("UserPromptSubmit", prompts, payload), (answers) => {
      const denies = answers.find(({ answer }) => answer.ends !== undefined || answer.decision === "deny")
      return denies === undefined
        ? contextsOf(answers)
        : { decision: "deny" as const, reason: reasonOf(denies.answer) }
    })

  const stop = (payload: HookPayload<"Stop"> | HookPayload<"SubagentStop">) =>
    Effect.map(told(payload.event, payload.event === "Stop" ? stops : subStops, payload), (answers) => {
      // If hooks disagree, ending the turn wins over continuing it.
      if (answers.some(({ answer }) => answer.ends !== undefined)) return undefined
      const reasons = answers.flatMap(({ answer }) => answer.decision === "deny" ? [answer.reason ?? ""] : [])
      return reasons.length === 0 ? undefined : { decision: "deny" as const, reason: reasons.join("\n\n") }
    })

  const subagentStart = (payload: HookPayload<"SubagentStart">) =>
    Effect.map(told("SubagentStart", subStarts, payload), contextsOf)

  const listens = (event: Extract<HookEvent, ClaudeEvent>, hooks = registered(event)) =>
    hooks.length === 0
      ? []
      : [on(event, (payload: HookPayload) => Effect.asVoid(told(event, hooks, payload)), options)]

  return [
    ...(starts.length === 0 ? [] : [on("SessionStart", sessionStart, options)]),
    ...(prompts.length === 0 ? [] : [on("UserPromptSubmit", userPromptSubmit, options)]),
    ...(before.length === 0 ? [] : [on("PreToolUse", preToolUse, options)]),
    ...(questions.length === 0 ? [] : [on("PermissionRequest", permissionRequest, options)]),
    ...(after.length + afterFailure.length === 0 ? [] : [on("PostToolUse", postToolUse, options)]),
    ...(stops.length === 0 ? [] : [on("Stop", stop, options)]),
    ...listens("PreCompact"),
    ...listens("Notification"),
    ...(subStarts.length === 0 ? [] : [on("SubagentStart", subagentStart, options)]),
    ...(subStops.length === 0 ? [] : [on("SubagentStop", stop, options)]),
    ...listens("SessionEnd")
  ]
}

const options = { name: "of Claude Code's settings", timeout: times.all * 1_000 }
