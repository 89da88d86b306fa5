/** Decides which models a session's requests go to. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { parseRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import { Config } from "../../Config.ts"
import { Provider } from "../../Provider.ts"
import type { Live } from "./live.ts"

/** The models to try: the session's own, else the agent's, else the configured or the default one. */
export const candidates = Effect.fnUntraced(function*(live: Live, agent: AgentInfo) {
  if (live.info.model !== undefined) return [live.info.model]
  if (agent.model.length > 0) return agent.model
  const { settings } = yield* Config
  const configured = settings.model === undefined ? undefined : parseRef(settings.model)
  if (configured !== undefined) return [configured]
  const provider = yield* Provider
  return [yield* provider.defaultModel]
})
