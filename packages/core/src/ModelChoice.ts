/** Decides which model answers an agent before anything is asked of it, and whether it can be used. */
import type { ModelRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import { Agent } from "./Agent.ts"
import { Config } from "./Config.ts"
import { isSize, ofVendor, usualModel } from "./ModelSize.ts"
import { Provider } from "./Provider.ts"

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
