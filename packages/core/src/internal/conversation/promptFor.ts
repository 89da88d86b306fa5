/** Decides what an agent's own prompt says in one session. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import * as Effect from "effect/Effect"
import { SessionStorage } from "../../SessionStorage.ts"
import type { Live } from "../live/Live.ts"

/** Stands in an agent's prompt for what its session is there for. */
const placeholder = "{task_description}"

/** What a session is there for: the description of the run that is at work, or was last; where there is none, its title. */
const descriptionOf = Effect.fnUntraced(function*({ info }: Live) {
  const storage = yield* SessionStorage
  const { rows } = yield* storage.runs({ taskID: info.id })
  return (rows.find(({ state }) => state === "running") ?? rows.at(-1))?.description ?? info.title
})

/** The prompt of an agent with `{task_description}` filled in; what a description holds is not looked through again. */
export const promptFor = (live: Live, agent: AgentInfo) => {
  // Another agent may be chosen later, and hidden ones work beside it.
  const prompt = live.info.prompt?.agent === agent.name ? live.info.prompt.text : agent.prompt
  return prompt?.includes(placeholder) === true
    ? Effect.map(descriptionOf(live), (description) => prompt.replaceAll(placeholder, () => description))
    : Effect.succeed(prompt)
}
