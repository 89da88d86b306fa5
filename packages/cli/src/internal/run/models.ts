/** Decides the model of a run before anything is stored. */
import { Config } from "@skein/core/Config"
import { formatRef, parseRef } from "@skein/domain/Model"
import { keyNames, namings } from "@skein/provider/BuiltIn"
import * as Effect from "effect/Effect"
import { UsageError } from "../../UsageError.ts"
import { chooseModel, fallback } from "../providers.ts"

/** Reads `--model`. */
export const readModel = Effect.fnUntraced(function*(text: string | undefined) {
  const ref = text === undefined ? undefined : parseRef(text)
  if (text === undefined || ref !== undefined) return ref
  const { namedLike } = yield* Effect.promise(() => import("@skein/provider/Models"))
  const found = text.trim() === "" ? [] : namedLike(text.trim())
  return yield* new UsageError({
    message: `--model needs PROVIDER/MODEL, and got ${JSON.stringify(text)}.${
      found.length === 0 ? " An example is openai/gpt-6.1-sol." : ` Did you mean ${found.slice(0, 3).join(" or ")}?`
    } See \`skein models\`.`
  })
})

/** Says which model answers an agent, what chose it, and how to choose another. Without an agent, the session names it. */
export const modelNote = Effect.fnUntraced(function*(answers: string, agent: string | undefined) {
  const { origins } = yield* Config
  if (agent === undefined) return `model: ${answers} (-m chooses another)`
  const { keyName, model, otherKeys } = yield* chooseModel
  if (answers === formatRef(fallback)) {
    const [naming] = yield* namings
    if (naming !== undefined) return `${answers} answers, which is not an AI. ${naming}`
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
