/** Decides the mode of a run: the one from the flags, or else the stored mode of the session. */
import { type Mode, modeOf, planAgent } from "@skein/domain/Mode"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { UsageError } from "../../UsageError.ts"
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
