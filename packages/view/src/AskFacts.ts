/** Decides how a permission question reads: what would happen, why it is asked, and what else is known. */
import type { PermissionRequest } from "@skein/domain/Event"

const textOf = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value) ?? String(value)

/** What would happen: a command as written, otherwise what rules see of it. */
export const subjectOf = ({ metadata: { command }, patterns, permission }: PermissionRequest): string =>
  /^bash(?:_|$)/.test(permission) && typeof command === "string" ? command : patterns.join("\n")

/** Why it is asked; undefined if only because no rule allows it. */
export const reasonOf = ({ metadata: { reason, reasons } }: PermissionRequest): string | undefined => {
  if (typeof reason === "string" && reason !== "") return reason
  const several = Array.isArray(reasons) ? reasons.filter((each) => typeof each === "string") : []
  return several.length === 0 ? undefined : several.join(" ")
}

const isReason = new Set(["reason", "reasons"])

/** What else is known of the call, such as its `diff`. What the subject or the patterns say already is left out. */
export const detailsOf = (request: PermissionRequest): ReadonlyArray<readonly [key: string, text: string]> =>
  Object.entries(request.metadata).flatMap(([key, value]) => {
    const text = value === undefined || isReason.has(key) ? "" : textOf(value)
    return text === "" || text === subjectOf(request) || request.patterns.includes(text) ? [] : [[key, text] as const]
  })
