/** Decides what spans say of a session and of what it used: ids, names and figures, and never a word of its content. */
import type { Usage } from "@skein/domain/Usage"
import type { Attributes } from "../traced.ts"
import { type Live, pathOf } from "./Live.ts"

/** Who works; the first run of a task that has not settled is the one that does. */
export const sessionAttributes = (live: Live): Attributes => {
  const { parent } = live
  const who = {
    "gen_ai.conversation.id": live.info.id,
    "gen_ai.agent.name": live.info.agent,
    "skein.root.id": live.info.rootID,
    "skein.agent.path": pathOf(live).join("/")
  }
  if (parent === undefined) return who
  const run = parent.tasks.running.find((task) => task.live === live)
  return { ...who, "skein.task.id": live.info.id, ...(run === undefined ? {} : { "skein.run.id": run.row.id }) }
}

/** What was used; `skein.cost` is in USD, and missing where it is not known. */
export const usageAttributes = ({ cost, tokens }: Pick<Usage, "cost" | "tokens">): Attributes => ({
  "gen_ai.usage.input_tokens": tokens.input,
  "gen_ai.usage.output_tokens": tokens.output,
  "gen_ai.usage.cache_read.input_tokens": tokens.cacheRead,
  "gen_ai.usage.cache_creation.input_tokens": tokens.cacheWrite,
  "gen_ai.usage.reasoning.output_tokens": tokens.reasoning,
  ...(cost === "unknown" ? {} : { "skein.cost": Number(cost) })
})
