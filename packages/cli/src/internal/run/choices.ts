/** Decides the mode and the model of a run. */
import { Backend } from "@skein/backend/Backend"
import { Config } from "@skein/core/Config"
import { isOn, type Machine } from "@skein/core/Whereabouts"
import { type Mode, modeOf, planAgent } from "@skein/domain/Mode"
import { formatRef, parseRef } from "@skein/domain/Model"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { keyNames, namings } from "@skein/provider/BuiltIn"
import * as NodeOwner from "@skein/tools/NodeOwner"
import * as Effect from "effect/Effect"
import { existsSync } from "node:fs"
import { UsageError } from "../../ExitCode.ts"
import { chooseModel, fallback } from "../providers.ts"
import type { Lookup } from "./target.ts"

/** The flags that set the mode. */
interface ModeFlags {
  readonly auto: boolean
  readonly mode: Mode | undefined
  readonly agent: string | undefined
}

const refuse = (message: string) => new UsageError({ message })

/** The mode on the command line. Contradicting flags are refused. */
export const typedMode = ({ agent, auto, mode }: ModeFlags): Effect.Effect<Mode | undefined, UsageError> => {
  if (auto && mode !== undefined && mode !== "auto") {
    return refuse(`--auto is --mode auto, and you gave --mode ${mode}. Leave one of them out.`)
  }
  const typed = auto ? "auto" : mode
  if (typed === undefined || agent === undefined || (typed === "plan") === (agent === planAgent)) {
    return Effect.succeed(typed)
  }
  return refuse(
    typed === "plan"
      ? `In --mode plan the agent plan works. Leave --agent ${agent} out.`
      : `The agent plan works in --mode plan. Leave --mode ${typed} out, or choose another --agent.`
  )
}

/** The mode of a session's tree. */
export const storedMode = Effect.fnUntraced(function*(session: SessionInfo | undefined, { get }: Pick<Lookup, "get">) {
  if (session === undefined) return undefined
  return modeOf(session.parentID === undefined ? session : (yield* get(session.rootID)) ?? session)
})

/** The default agent of a new or existing session from now on. */
export const agentIn = (mode: Mode | undefined, session: SessionInfo | undefined, usual: string): string => {
  if (mode === "plan") return planAgent
  if (session === undefined) return usual
  const leaves = mode !== undefined && session.agent === planAgent
  return leaves ? session.agentBefore ?? usual : session.agent
}

/** Reads `--model`. */
export const readModel = Effect.fnUntraced(function*(text: string | undefined) {
  const ref = text === undefined ? undefined : parseRef(text)
  if (text === undefined || ref !== undefined) return ref
  const { namedLike } = yield* Effect.promise(() => import("@skein/provider/Models"))
  const found = text.trim() === "" ? [] : namedLike(text.trim())
  return yield* new UsageError({
    message: `--model needs PROVIDER/MODEL, and got ${JSON.stringify(text)}.${
      found.length === 0 ? " An example is openai/gpt-6.1-sol." : ` Did you mean ${found.slice(0, 3).join(" or ")}?`
    } See \`skein models\`.`
  })
})

/** Says which model answers an agent, what chose it, and how to choose another. Without an agent, the session names it. */
export const modelNote = Effect.fnUntraced(function*(answers: string, agent: string | undefined) {
  const { origins } = yield* Config
  if (agent === undefined) return `model: ${answers} (-m chooses another)`
  const { keyName, model, otherKeys } = yield* chooseModel
  if (answers === formatRef(fallback)) {
    const [naming] = yield* namings
    if (naming !== undefined) return `${answers} answers, which is not an AI. ${naming}`
    return `No model is configured, so ${answers} answers, which is not an AI. For a model's answer, set one of ${
      keyNames.join(", ")
    }, or choose another with --model PROVIDER/MODEL or "model" in skein.json.`
  }
  const isDefault = formatRef(model) === answers
  const others = otherKeys.length === 0 ? "" : `, and also ${otherKeys.join(", ")}`
  const origin = origins[`agent.${agent}.model`] ?? (isDefault ? origins["model"] : undefined)
  const why = origin ?? (isDefault && keyName !== undefined ? `${keyName} is set${others}` : undefined)
  return `model: ${answers} (${why === undefined ? "" : `${why}; `}-m chooses another)`
})

/** Whether a directory is on this machine. If Skein does not know its machine, one that is here counts. */
export const isOnMachine = (directory: string, machine: Machine | undefined): boolean =>
  machine === undefined ? existsSync(directory) : isOn(NodeOwner.machine(), machine)

/** Whether the files of a session are; without a session, whether those of a new one in the directory will be. */
export const seesFiles = Effect.fnUntraced(function*(session: SessionInfo | undefined, directory: string) {
  const { machine, sessions, where } = yield* Backend
  if (where._tag === "Local") return true
  const root = session === undefined || session.id === session.rootID ? session : yield* sessions.get(session.rootID)
  const there = root ?? (yield* machine)
  return isOnMachine(directory, there?.host === undefined ? undefined : { host: there.host, machine: there.machine })
})
