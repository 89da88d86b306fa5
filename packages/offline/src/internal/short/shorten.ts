/** Answers the requests that want no survey: the title of a session, its summary, the digest of a long conversation. */
import type { ModelRequest } from "@skein/core/Provider"
import { digestOf } from "./digest.ts"
import { summaryOf } from "./summary.ts"
import { titleOf } from "./title.ts"

/** The answer to such a request; undefined for a turn. */
export const shorten = (purpose: ModelRequest["origin"]["purpose"], prompt: string): string | undefined => {
  switch (purpose) {
    case "title":
      return titleOf(prompt)
    case "summary":
      return summaryOf(prompt)
    case "compaction":
      return digestOf(prompt)
    case "turn":
      return undefined
  }
}
