/** What happens when a session is opened: what is continued, what is asked first, and what is loaded beside it. */
import { Backend } from "@skein/backend/Backend"
import * as Effect from "effect/Effect"
import type { SessionHost, SessionRequest } from "../../SessionHost.ts"
import type { SessionModel } from "../model/SessionModel.ts"
import type { Performer } from "./Acting.ts"
import { pickSession } from "./commands.ts"
import { offerModels } from "./firstModel.ts"

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
