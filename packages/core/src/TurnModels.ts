/**
 * Decides whether the models are here with which the unfinished work of a tree began: where they are not, it does not continue
 * with others by itself.
 */
import type { SessionID } from "@skein/domain/Id"
import { formatRef, type ModelRef } from "@skein/domain/Model"
import type { TaskRun } from "@skein/domain/Outcome"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { isSize } from "./ModelSize.ts"
import { ModelUnavailable, Provider } from "./Provider.ts"
import { SessionStorage } from "./SessionStorage.ts"
import { stopsOf } from "./Unfinished.ts"

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
    const { id, parentID, turn } = info
    const stops = stopsOf((each) => infos.get(each), parentID)
    const isOpen = turn !== undefined && turn.ended === undefined && stops <= (turn.stops ?? stops)
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
