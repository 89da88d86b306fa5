/** Decides the model of a run before anything is stored. */
import { Config } from "@skein/core/Config"
import { formatRef, type ModelRef, parseRef } from "@skein/domain/Model"
import { keyNames } from "@skein/provider/BuiltIn"
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

/** Says which model answers an agent, what chose it, and how to choose another. Without an agent, the session names it. */
export const modelNote = Effect.fnUntraced(function*(answers: string, agent: string | undefined) {
  const { origins } = yield* Config
  if (agent === undefined) return `model: ${answers} (-m chooses another)`
  const { keyName, model, otherKeys } = yield* chooseModel
  if (answers === formatRef(fallback)) {
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
