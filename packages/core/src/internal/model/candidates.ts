/** Decides which models a session's requests go to. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { ModelRef } from "@skein/domain/Model"
import type { SessionInfo, SessionTurn } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { Config } from "../../Config.ts"
import { Journal } from "../../Journal.ts"
import { isSize, ofVendor, usualModel } from "../../ModelChoice.ts"
import type { Live } from "../live/Live.ts"

/** The model that a session was explicitly given. */
const ownModel = ({ model }: Pick<SessionInfo, "model">): ModelRef | undefined =>
  model === undefined || isSize(model) ? undefined : model

/** The models that an open turn keeps, for the agent that answers it. */
const keptModels = ({ info }: Live, agent: string): ReadonlyArray<ModelRef> | undefined =>
  info.turn?.ended === undefined && info.turn?.models?.agent === agent ? info.turn.models.refs : undefined

/** The models to try in a step, if nothing has to be asked or stored for that. */
export const chosenOf = (live: Live, agent: AgentInfo): ReadonlyArray<ModelRef> | undefined => {
  const own = ownModel(live.info)
  return own === undefined ? keptModels(live, agent.name) : [own]
}

/** Whether the model that a person named for the tree goes before what only the files of a project name. */
export const yieldsToPerson = (live: Live, key: string) =>
  Effect.map(Config, ({ projectKeys }) => ownModel(live.root.info) !== undefined && projectKeys?.has(key) === true)

/** The models that an agent's definition names, as far as they count in a session's tree. */
export const modelsOf = (live: Live, { model, name }: AgentInfo) =>
  model.length === 0
    ? Effect.succeed(model)
    : Effect.map(yieldsToPerson(live, `agent.${name}.model`), (yields) => yields ? [] : model)

/** The models by the config of now: that of the session, else the agent's, else the configured or the default one. */
const configured = Effect.fnUntraced(function*(live: Live, agent: AgentInfo) {
  if (live.info.model !== undefined) return [yield* concrete(live, live.info.model)]
  const models = yield* modelsOf(live, agent)
  return models.length > 0 ? yield* Effect.forEach(models, (ref) => concrete(live, ref)) : [yield* usualModel]
})

/** The models to try: the session's own, else those with which its turn began, else those by the config. */
export const candidates = Effect.fnUntraced(function*(live: Live, agent: AgentInfo) {
  return chosenOf(live, agent) ?? (yield* configured(live, agent))
})

/** What a turn keeps of the models of its agent, as the config has them now; nothing if the session names its own. */
export const modelsToKeep = (live: Live) =>
  Effect.gen(function*() {
    if (ownModel(live.info) !== undefined) return {}
    const agent = yield* (yield* Agent).get(live.info.agent)
    return { models: { agent: agent.name, refs: yield* configured(live, agent) } } satisfies Partial<SessionTurn>
    // The step fails for the same reason, and says it.
  }).pipe(Effect.orElseSucceed((): Pick<SessionTurn, "models"> => ({})))

/** The models to try in a step. If the agent has changed in the middle of a turn, the turn keeps those of the new one. */
export const candidatesOfStep = Effect.fnUntraced(function*(live: Live, agent: AgentInfo) {
  const { turn } = live.info
  if (chosenOf(live, agent) === undefined && turn !== undefined && turn.ended === undefined) {
    const journal = yield* Journal
    const kept = yield* modelsToKeep(live)
    yield* journal.commit([live.record.annotate({ turn: { ...turn, ...kept } })])
  }
  return yield* candidates(live, agent)
})

/** The nearest model that a session or one above it was explicitly given. */
const given = (live: Live | undefined): ModelRef | undefined =>
  live === undefined ? undefined : ownModel(live.info) ?? given(live.parent)

/** The model that a reference stands for in a session. */
export const concrete = Effect.fnUntraced(function*(live: Live, ref: ModelRef) {
  return isSize(ref) ? yield* ofVendor(ref, given(live) ?? (yield* usualModel)) : ref
})
