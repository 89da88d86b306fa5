/** The dialect of Chat Completions that OpenAI's own models expect. */
import type { ModelRequest } from "@skein/core/Provider"
import { Unaskable } from "../errors.ts"
import { unknownVariant } from "../failure.ts"
import type { Dialect } from "./chatBody.ts"

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]

/** Models that reason. */
const reasoner = /^(?:o\d+|gpt-(?:[5-9]|\d{2,})(?:\.\d+|(?!-chat)))(?:-|$)/

/** Reasoning models whose reasoning can be turned off. */
const optionalReasoner = /^gpt-5\.[1-9]/

/** The dialect of a model. `isOfficial`: the server is OpenAI's, which knows fields that others may refuse. */
export const openAiDialect = (modelID: string, isOfficial: boolean): Dialect => {
  const reasons = reasoner.test(modelID)
  return {
    system: reasons ? "developer" : "system",
    settings: ({ maxOutputTokens, origin, temperature, topP, variant }: ModelRequest) => {
      if (variant !== undefined && !efforts.includes(variant)) {
        throw new Unaskable(`it knows the reasoning efforts ${efforts.join(", ")}, and no ${variant}`, unknownVariant)
      }
      const samples = !reasons || (variant === "none" && optionalReasoner.test(modelID))
      return {
        ...samples ? { temperature, top_p: topP } : {},
        // Reasoning models refuse the old name. Servers with older models know only that one.
        ...reasons ? { max_completion_tokens: maxOutputTokens } : { max_tokens: maxOutputTokens },
        reasoning_effort: variant,
        stream_options: { include_usage: true },
        ...isOfficial ? { prompt_cache_key: origin.cachedAs ?? origin.sessionID } : {}
      }
    }
  }
}
