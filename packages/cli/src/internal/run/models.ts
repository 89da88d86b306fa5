/** Decides the model of a run before anything is stored. */
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

/** If no flag, agent or config names a model, says which one answers, and how to choose another. */
export const defaultNote = Effect.fnUntraced(function*(usual: string) {
  const { keyName, model, otherKeys } = yield* chooseModel
  if (usual === formatRef(fallback)) {
    return `No model is configured, so ${usual} answers, which is not an AI. For a model's answer, set one of ${
      keyNames.join(", ")
    }, or choose another with --model PROVIDER/MODEL or "model" in skein.json.`
  }
  if (formatRef(model) !== usual || keyName === undefined) return undefined
  const others = otherKeys.length === 0 ? "" : `, and also ${otherKeys.join(", ")}`
  return `model: ${usual} (${keyName} is set${others}; -m chooses another)`
})
