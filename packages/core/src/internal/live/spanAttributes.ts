/** Decides what spans say about a session and its usage: ids, names and numbers, and never a word of its content. */
import { knownCost, type Usage } from "@skein/domain/Usage"
import type { Attributes } from "../traced.ts"
import { type Live, pathOf } from "./Live.ts"

/** The session that works; that is the first unsettled run of a task. */
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

/** The usage; `skein.cost` is in USD, and missing if unknown. */
export const usageAttributes = ({ cost, tokens }: Pick<Usage, "cost" | "tokens">): Attributes => ({
  "gen_ai.usage.input_tokens": tokens.input,
  "gen_ai.usage.output_tokens": tokens.output,
  "gen_ai.usage.cache_read.input_tokens": tokens.cacheRead,
  "gen_ai.usage.cache_creation.input_tokens": tokens.cacheWrite,
  "gen_ai.usage.reasoning.output_tokens": tokens.reasoning,
  ...(cost === "unknown" ? {} : { "skein.cost": Number(knownCost(cost)) })
})
