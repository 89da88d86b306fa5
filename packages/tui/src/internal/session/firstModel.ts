/** Asks once which model answers, where only the keys chose one, and keeps the answer in the user's config. */
import type { ModelFact } from "@skein/backend/ProjectFacts"
import { parseRef } from "@skein/domain/Model"
import { formatCount } from "@skein/view/Numbers"
import * as Effect from "effect/Effect"
import type { SessionHost } from "../../SessionHost.ts"
import type { SessionModel } from "../model/SessionModel.ts"
import type { Acting } from "./Acting.ts"

const nameOf = ({ modelID, providerID }: ModelFact): string => `${providerID}/${modelID}`

/** Offers the models, unless there is no choice or the person was asked before; says whether they are offered. */
export const offerModels = Effect.fnUntraced(function*(
  model: SessionModel,
  host: SessionHost,
  models: ReadonlyArray<ModelFact>,
  usual: string
) {
  const usable = models.filter(({ available }) => available)
  // What is being typed must not choose a model.
  if (usable.length < 2 || !model.input.isEmpty || model.views.isOpen) return false
  if (!(yield* host.mayOfferModels)) return false
  const first = usable.filter((each) => nameOf(each) === usual)
  model.views.choose(
    `Which model answers from now on? Esc leaves it at ${usual}, and /model changes it at any time`,
    [...first, ...usable.filter((each) => !first.includes(each))].map((each) => ({
      value: nameOf(each),
      label: nameOf(each),
      ...(each.limit === undefined ? {} : { detail: `${formatCount(each.limit.context)} tokens of context` })
    })),
    (name) => {
      model.facts.choice.model = parseRef(name)
      model.facts.context = usable.find((each) => nameOf(each) === name)?.limit?.context
      model.request({ type: "keepModel", model: name })
    }
  )
  return true
})

/** Keeps the model for all projects that name none. */
export const keepModel = ({ host, model }: Acting, name: string): Effect.Effect<void> =>
  Effect.match(host.keepModel(name), {
    onFailure: ({ message }) => model.say(`${name} answers in this session only: ${message}`, "error"),
    onSuccess: (file) => model.say(`${name} answers from now on: it is "model" in ${file}.`)
  })
