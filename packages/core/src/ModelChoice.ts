/**
 * Decides which model answers: what a size stands for, which model an agent gets before anything is asked of it, and whether
 * the models are here with which unfinished work began. Where they are not, it does not continue with others by itself.
 */
import type { SessionID } from "@skein/domain/Id"
import { isInert, stopsOf } from "@skein/domain/InboxRow"
import { formatRef, type ModelRef, parseRef } from "@skein/domain/Model"
import type { TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { Agent } from "./Agent.ts"
import { Config } from "./Config.ts"
import { ModelUnavailable, Provider } from "./Provider.ts"
import { SessionStorage } from "./SessionStorage.ts"

/** The name that stands for the session's provider. */
export const sessionVendor = "session"

/** Whether this is the size of a model rather than a model. */
export const isSize = ({ providerID }: ModelRef): boolean => providerID === sessionVendor

/** The model of sessions and agents that name none: the configured one, else the default. */
export const usualModel = Effect.gen(function*() {
  const { settings } = yield* Config
  const configured = settings.model === undefined ? undefined : parseRef(settings.model)
  if (configured !== undefined && !isSize(configured)) return configured
  const provider = yield* Provider
  return yield* provider.defaultModel
})

/**
 * The model that a size stands for if `base` is the session's model: `base` itself if that size is unknown. Returns
 * other models unchanged.
 */
export const ofVendor = Effect.fnUntraced(function*(ref: ModelRef, base: ModelRef) {
  if (!isSize(ref)) return ref
  const provider = yield* Provider
  const models = yield* provider.list
  const found = models.find(({ providerID, size }) => providerID === base.providerID && size === ref.modelID)
  return found === undefined ? base : { providerID: found.providerID, modelID: found.modelID }
})

/** The model that answers, and whether nothing chose it but what keys there are. */
export interface ModelChoice {
  readonly model: ModelRef | undefined
  readonly isUsual: boolean
}

/** The model of an agent: the named one, else the agent's. Fails if none of them is available. */
export const modelFor = Effect.fnUntraced(function*(model: ModelRef | undefined, agent: string) {
  const agents = yield* Agent
  const provider = yield* Provider
  const { settings } = yield* Config
  const named = model === undefined ? (yield* agents.get(agent)).model : [model]
  const isUnnamed = named.every(isSize)
  // A size is one of the vendor of the usual model.
  const usual = isUnnamed || named.some(isSize) ? yield* usualModel : undefined
  const refs = usual === undefined ? named : yield* Effect.forEach(named, (ref) => ofVendor(ref, usual))
  const [first, ...rest] = refs.length > 0 || usual === undefined ? refs : [usual]
  if (first === undefined) return { model: undefined, isUsual: false } satisfies ModelChoice
  yield* rest.reduce(
    (found, ref) => Effect.catchAll(found, () => provider.resolve(ref)),
    provider.resolve(first)
  )
  return { model: first, isUsual: isUnnamed && settings.model === undefined } satisfies ModelChoice
})

/** A session whose turn or run cannot continue here, and why the last of its models is not available. */
export interface MissingModel {
  readonly sessionID: SessionID
  readonly rootID: SessionID
  readonly models: ReadonlyArray<ModelRef>
  readonly error: ModelUnavailable
}

/** The models of which one must be there, so that what is unfinished of a session can continue; none if any will do. */
const modelsOf = ({ model, turn }: SessionInfo, isOpen: boolean): ReadonlyArray<ModelRef> => {
  if (model !== undefined && !isSize(model)) return [model]
  return isOpen ? turn?.models?.refs ?? [] : []
}

/** The models that unfinished work of a session began with. */
export interface NeededModels {
  readonly info: SessionInfo
  readonly models: ReadonlyArray<ModelRef>
}

/** The models that a tree needs to continue, by its sessions and unsettled runs. */
export const neededModels = (
  sessions: ReadonlyArray<SessionInfo>,
  runs: ReadonlyArray<TaskRun>
): ReadonlyArray<NeededModels> => {
  const infos = new Map(sessions.map((info) => [info.id, info]))
  const working = new Set(runs.filter(({ stop }) => stop === undefined).map(({ taskID }) => taskID))
  return sessions.flatMap((info) => {
    const { id, turn } = info
    const stops = stopsOf((each) => infos.get(each), id)
    const isOpen = turn !== undefined && turn.ended === undefined && !isInert(turn, stops)
    const models = isOpen || working.has(id) ? modelsOf(info, isOpen) : []
    return models.length === 0 ? [] : [{ info, models }]
  })
}

/** Those of them that cannot continue here. Run it in the project of the tree. */
export const missingOf = (needed: ReadonlyArray<NeededModels>) =>
  Effect.flatMap(Provider, ({ resolve }) =>
    Effect.map(
      Effect.forEach(needed, ({ info: { id: sessionID, rootID }, models }) =>
        Effect.firstSuccessOf(models.map(resolve)).pipe(
          Effect.as([]),
          Effect.catchAll((error) => Effect.succeed([{ sessionID, rootID, models, error } satisfies MissingModel]))
        )),
      (found) =>
        found.flat()
    ))

/** The same for a tree, as it is stored. */
export const missingModels = Effect.fnUntraced(function*(rootID: SessionID) {
  const storage = yield* SessionStorage
  const { rows: sessions } = yield* storage.sessions({ rootID })
  const { rows: runs } = yield* storage.runs({ rootID, unsettled: true })
  return yield* missingOf(neededModels(sessions, runs))
})

/** Says which model is missing at a place, and why. */
export const missingText = ({ error: { message }, models, sessionID }: MissingModel, where: string): string => {
  const names = models.map(formatRef).join(", ")
  return models.length === 1
    ? `The model ${names} is not set up ${where}, and the turn of ${sessionID} began with it. ${message}`
    : `None of the models ${names} is set up ${where}, and the turn of ${sessionID} began with them. ${message}`
}

/** Why such a session is not continued, and how to change that. */
export const notContinued = (missing: MissingModel): ModelUnavailable =>
  new ModelUnavailable({
    model: missing.error.model,
    reason: missing.error.reason,
    message: `${
      missingText(missing, "here")
    } The turn stays open. Set the model up, or choose another one: skein run -s ${missing.rootID} --model PROVIDER/MODEL "Continue where you left off."`
  })
