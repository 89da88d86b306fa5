/** Decides which models a session's requests go to. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { ModelRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import { isSize, ofVendor, usualModel } from "../../ModelSize.ts"
import type { Live } from "../live/Live.ts"

/** The models to try: the session's own, else the agent's, else the configured or the default one. */
export const candidates = Effect.fnUntraced(function*(live: Live, agent: AgentInfo) {
  if (live.info.model !== undefined) return [yield* concrete(live, live.info.model)]
  if (agent.model.length > 0) return yield* Effect.forEach(agent.model, (ref) => concrete(live, ref))
  return [yield* usualModel]
})

/** The nearest model that a session or one above it was explicitly given. */
const given = (live: Live | undefined): ModelRef | undefined =>
  live === undefined || (live.info.model !== undefined && !isSize(live.info.model))
    ? live?.info.model
    : given(live.parent)

/** The model that a reference stands for in a session. */
export const concrete = Effect.fnUntraced(function*(live: Live, ref: ModelRef) {
  return isSize(ref) ? yield* ofVendor(ref, given(live) ?? (yield* usualModel)) : ref
})
