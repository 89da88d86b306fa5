/** Decides what an agent's own prompt says in one session. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import * as Effect from "effect/Effect"
import { SessionStorage } from "../../SessionStorage.ts"
import type { Live } from "../live/Live.ts"

/** The placeholder for the purpose of the session in an agent's prompt. */
const placeholder = "{task_description}"

/** The purpose of a session: the description of its current or last run; its title if it never ran as a task. */
const descriptionOf = Effect.fnUntraced(function*({ info }: Live) {
  const storage = yield* SessionStorage
  const { rows } = yield* storage.runs({ taskID: info.id })
  // Runs follow each other in order, and the one at work may not be stored as running yet.
  return (rows.find(({ state }) => state !== "settled") ?? rows.at(-1))?.description ?? info.title
})

/** The prompt of an agent with `{task_description}` filled in; the description itself is not expanded. */
export const promptFor = (live: Live, agent: AgentInfo) => {
  // Another agent may be chosen later, and hidden ones work in the same session.
  const prompt = live.info.prompt?.agent === agent.name ? live.info.prompt.text : agent.prompt
  return prompt?.includes(placeholder) === true
    ? Effect.map(descriptionOf(live), (description) => prompt.replaceAll(placeholder, () => description))
    : Effect.succeed(prompt)
}
