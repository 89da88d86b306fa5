/** What happens when a session is opened: what is continued, what is asked first, and what is loaded beside it. */
import { Backend } from "@skein/backend/Backend"
import type { ModelFact } from "@skein/backend/ProjectFacts"
import { parseRef } from "@skein/domain/Model"
import { formatCount } from "@skein/view/Numbers"
import * as Effect from "effect/Effect"
import type { SessionHost, SessionRequest } from "../../SessionHost.ts"
import type { SessionModel } from "../model/SessionModel.ts"
import type { Acting, Performer } from "./Acting.ts"
import { pickSession } from "./commands.ts"

const nameOf = ({ modelID, providerID }: ModelFact): string => `${providerID}/${modelID}`

/** Offers the models, unless there is no choice or the person was asked before; says whether they are offered. */
const offerModels = Effect.fnUntraced(function*(
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

/** Continues what is asked for, and sends the first prompt. */
export const opening = Effect.fnUntraced(function*(
  model: SessionModel,
  performer: Performer,
  { mode, picks, prompt, session }: SessionRequest
) {
  if (session !== undefined) {
    yield* performer.open(session)
    if (mode !== undefined && mode !== model.facts.mode) model.request({ type: "mode", mode })
  }
  yield* performer.opened
  if (picks) yield* pickSession(model)
  if (prompt.trim() !== "") model.submit(prompt)
})

/** Says which servers of models were found on this machine. */
const sayLocalServers = (model: SessionModel, host: SessionHost) =>
  Effect.map(host.localServers, (found) => {
    for (const id of found) model.say(`${id} listens on this machine and needs no key: /model ${id}/MODEL`)
  })

/** Loads what menus and the status line show. What cannot be loaded is said when it is asked for. */
export const loadFacts = (
  model: SessionModel,
  host: SessionHost,
  { agent, directory, fallback, model: wanted, picks, prompt, session }: SessionRequest,
  touch: () => void
): Effect.Effect<void, never, Backend> =>
  Effect.gen(function*() {
    const { projects: all, where } = yield* Backend
    const projects = session === undefined ? all : all.of(session)
    const history = yield* host.history(directory)
    const isFirst = history.length === 0 && session === undefined
    model.input.load(history)
    const { agents, defaultAgent } = yield* projects.agents(directory)
    model.facts.agent ??= defaultAgent
    model.facts.agents = agents.filter(({ hidden }) => !hidden).map(({ description, mode, name }) => ({
      name,
      description,
      isPrimary: mode !== "subagent"
    }))
    for (const { color, name } of agents) if (color !== undefined) model.color(name, color)
    const chosen = yield* projects.modelFor(directory, { model: wanted, agent: agent ?? defaultAgent })
    if (chosen.model !== undefined) model.facts.model ??= `${chosen.model.providerID}/${chosen.model.modelID}`
    if (chosen.isUsual && model.facts.model === fallback.model) {
      for (const line of fallback.note.split("\n")) model.say(line)
      yield* sayLocalServers(model, host)
    }
    const models = yield* projects.models(directory)
    if (chosen.isUsual && isFirst && model.facts.model !== undefined && model.facts.model !== fallback.model) {
      // A server has a config of its own, and a prompt that is there already is not kept waiting.
      const mayAsk = where._tag === "Local" && prompt.trim() === "" && !picks
      if (!mayAsk || !(yield* offerModels(model, host, models, model.facts.model))) {
        model.say(`${model.facts.model} answers, because its key is set. /model chooses another one.`)
      }
    }
    model.facts.context = models.find(({ modelID, providerID }) => `${providerID}/${modelID}` === model.facts.model)
      ?.limit?.context
    model.facts.commands = (yield* projects.commands(directory)).items
    touch()
    // Servers may take seconds to start; until then there are all commands but their prompts.
    model.facts.commands = (yield* projects.commands(directory, { servers: true })).items
    touch()
  }).pipe(
    Effect.catchAll((error) =>
      Effect.sync(() => {
        model.say(error.message, "error")
        touch()
      })
    )
  )
