/** A model with a small context: it counts requests as a server does, and rejects those that are too long. */
import type { ModelRequest } from "@skein/core/Provider"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"

/** The number of tokens of a request. */
export const tokensOf = ({ messages, tools }: ModelRequest): number =>
  Math.ceil((JSON.stringify(messages).length + JSON.stringify(tools).length) / 4)

/** The answer to a request of at most this many tokens, with its usage. */
export const within = (
  most: number,
  request: ModelRequest,
  step: Scripted.ScriptedStep | string
): Scripted.ScriptedStep => {
  const input = tokensOf(request)
  if (input > most) return Scripted.fault("context_overflow", { message: `${input} tokens are more than ${most}.` })
  return { ...(typeof step === "string" ? { text: step } : step), tokens: { input, output: 10 } }
}

/** A script of such answers, for each session separately. */
export const bounded = (most: number, steps: ReadonlyArray<Scripted.ScriptedStep | string>): Scripted.Script => {
  const counts = new Map<SessionID, number>()
  return (request) => {
    const { sessionID } = request.origin
    const at = counts.get(sessionID) ?? 0
    const answer = within(most, request, steps[Math.min(at, steps.length - 1)] ?? "")
    if (answer.fails === undefined) counts.set(sessionID, at + 1)
    return answer
  }
}

/** The requests for one purpose, in order. */
export const madeFor = ({ requests }: Scripted.Scripted, purpose: ModelRequest["origin"]["purpose"]) =>
  requests.filter(({ origin }) => origin.purpose === purpose)

/** Everything that a model reads of a request, except the system prompt. */
export const readIn = ({ messages }: ModelRequest): string =>
  JSON.stringify(messages.filter(({ role }) => role !== "system"))
