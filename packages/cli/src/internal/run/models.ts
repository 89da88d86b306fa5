/** Decides which model a run begins with, before anything is stored. */
import { Config } from "@skein/core/Config"
import { Provider } from "@skein/core/Provider"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { formatRef, type ModelRef, parseRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import { UsageError } from "../../UsageError.ts"

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

/** Fails where none of the models that would be tried can be had; tells the default one, where it comes to that. */
export const checkModels = Effect.fnUntraced(function*(chosen: ModelRef | undefined, agent: AgentInfo | undefined) {
  const provider = yield* Provider
  const { settings } = yield* Config
  const configured = settings.model === undefined ? undefined : parseRef(settings.model)
  const named = chosen === undefined ? agent?.model ?? [] : [chosen]
  const [first, ...rest] = named.length > 0 ? named : configured === undefined ? [] : [configured]
  if (first === undefined) {
    const fallback = yield* provider.defaultModel
    yield* provider.resolve(fallback)
    return formatRef(fallback)
  }
  yield* rest.reduce(
    (found, ref) => Effect.catchAll(found, () => provider.resolve(ref)),
    provider.resolve(first)
  )
  return undefined
})
