/** Says in a few words how a run ended, for rows with little room. */
import type { Outcome } from "@skein/domain/Outcome"
import { formatDuration } from "./Numbers.ts"

/** Why a run did not complete; empty if it did. */
export const whyNot = (outcome: Outcome): string => {
  switch (outcome.status) {
    case "completed":
      return ""
    case "empty":
      return `no text (finish reason: ${outcome.finish})`
    case "failed":
      return outcome.error.message
    case "stopped":
      return `by ${outcome.by}`
    case "timed_out":
      return outcome.which === "timeout"
        ? `longer than ${formatDuration(outcome.after)}`
        : `no sign of life for ${formatDuration(outcome.after)}`
    case "budget_exhausted":
      return `its ${outcome.which} are used up`
    case "denied":
      return `${outcome.permission} was rejected`
    case "lost":
      return "its process ended"
  }
}

/** How a run ended, such as `timed out: longer than 5 m 00 s`. */
export const outcomeText = (outcome: Outcome): string => {
  const why = whyNot(outcome)
  const how = outcome.status.replaceAll("_", " ")
  return why === "" ? how : `${how}: ${why}`
}
