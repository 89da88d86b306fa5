/** Decides which model a run begins with, before anything is stored. */
import { Config } from "@skein/core/Config"
import { isSize, ofVendor, usualModel } from "@skein/core/ModelSize"
import { Provider } from "@skein/core/Provider"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { formatRef, type ModelRef, parseRef } from "@skein/domain/Model"
import { keyNames } from "@skein/provider/DefaultModel"
import * as Effect from "effect/Effect"
import { UsageError } from "../../UsageError.ts"
import { chooseModel, fallback } from "../providers.ts"

/** Reads `--model`. */
export const readModel = (text: string | undefined): Effect.Effect<ModelRef | undefined, UsageError> => {
  const ref = text === undefined ? undefined : parseRef(text)
  return text !== undefined && ref === undefined
    ? new UsageError({
      message: `--model needs PROVIDER/MODEL, such as openai/gpt-5.1, and got ${
        JSON.stringify(text)
      }. See \`skein models\`.`
    })
    : Effect.succeed(ref)
}

/** Says which model answers where neither a flag, an agent nor the config names one, and how to have another. */
export const defaultNote = Effect.fnUntraced(function*(usual: string) {
  const { keyName, model, otherKeys } = yield* chooseModel
  if (usual === formatRef(fallback)) {
    return `No model is configured, so ${usual} answers, which is no AI. For a model's answer, set one of ${
      keyNames.join(", ")
    }, or choose another with --model PROVIDER/MODEL or "model" in skein.json.`
  }
  if (formatRef(model) !== usual || keyName === undefined) return undefined
  const others = otherKeys.length === 0 ? "" : `, and also ${otherKeys.join(", ")}`
  return `model: ${usual} (${keyName} is set${others}; -m chooses another)`
})

/** Fails where none of the models that would be tried can be had; tells the default one, where it comes to that. */
export const checkModels = Effect.fnUntraced(function*(chosen: ModelRef | undefined, agent: AgentInfo | undefined) {
  const provider = yield* Provider
  const { settings } = yield* Config
  const named = chosen === undefined ? agent?.model ?? [] : [chosen]
  const isUsual = named.every(isSize)
  // A size is one of the vendor of the usual model.
  const usual = isUsual || named.some(isSize) ? yield* usualModel : undefined
  const refs = usual === undefined ? named : yield* Effect.forEach(named, (ref) => ofVendor(ref, usual))
  const [first, ...rest] = refs.length > 0 || usual === undefined ? refs : [usual]
  if (first === undefined) return undefined
  yield* rest.reduce(
    (found, ref) => Effect.catchAll(found, () => provider.resolve(ref)),
    provider.resolve(first)
  )
  return isUsual && settings.model === undefined ? formatRef(first) : undefined
})
