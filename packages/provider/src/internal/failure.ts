/**
 * Decides the kind of a failure of a request, a socket or a server, and whether a retry can help, from what errors of
 * all shapes say.
 */
import { ModelError } from "@skein/core/Provider"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  type Address,
  BrokenStream,
  isLocal,
  Refusal,
  settingOf,
  TooLarge,
  Unaskable,
  unreachable,
  UnreadableChunk,
  type Verdict,
  versionHint,
  WrongAnswer,
  wrongAnswer
} from "./errors.ts"
import { type Fields, fields, parseJson } from "./json.ts"

/** An error of a socket. */
interface SocketError {
  readonly code: string
  readonly message: string
  readonly error: Error
}

/** What an error says about a failure. */
interface Evidence {
  /** The HTTP status, or the status in an error event. */
  readonly status: number | undefined
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Codes and types that the server named, lower-case. */
  readonly codes: ReadonlyArray<string>
  /** The message of the server, else of the error. */
  readonly text: string
  /** The socket error among the causes, if any. */
  readonly network: SocketError | undefined
  /** How long to wait, such as `37s`, where the server says it in the body. */
  readonly delay: string | undefined
  /** The text of a call that the server did not accept. */
  readonly failed: string | undefined
  /** The context of a local server, in tokens, where it says that the conversation exceeds it. */
  readonly context: number | undefined
  /** The target of a redirect. */
  readonly location: string | undefined
  /** What to blame if nothing else says: the server, its stream, or the request. */
  readonly origin: "server" | "stream" | "request"
}

const textIn = (value: unknown): string | undefined => typeof value === "string" && value !== "" ? value : undefined

/** Reads a thrown value, or the error of an `error` part; `isAccepted`: the server had accepted the request. */
const gather = (cause: unknown, isAccepted = false): Evidence => {
  const error = fields(cause) ?? { message: String(cause) }
  const socket = socketError(error)
  const body = bodyOf(error)
  const response = readServerError(body)
  const headers = (fields(error["responseHeaders"]) ?? {}) as Readonly<Record<string, string>>
  // The AI SDK invents a status for an error event.
  const said = isAccepted ? undefined : httpStatus(error["statusCode"])
  const status = socket === undefined ? said ?? response.status : undefined
  return {
    status,
    headers,
    codes: [...response.codes, textIn(error["code"]), textIn(error["type"])]
      .flatMap((code) => code === undefined ? [] : [code.toLowerCase()]),
    text: socket?.message ?? response.text ?? textIn(body) ?? textIn(error["message"]) ?? "",
    network: socket,
    delay: response.delay,
    context: response.context,
    failed: response.failed,
    location: headers["location"],
    origin: originOf(cause, response.found, isAccepted)
  }
}

/**
 * The body of a refusal, the frame of an error event, or the chunk that was not understood. What the AI SDK made of a body
 * lacks the fields that it does not know.
 */
const bodyOf = (error: Fields): unknown => {
  const body = textIn(error["responseBody"])
  const parsed = body === undefined ? undefined : Option.getOrUndefined(parseJson(body))
  if (fields(parsed) !== undefined) return Array.isArray(parsed) ? parsed[0] : parsed
  if (fields(error["data"]) !== undefined) return error["data"]
  if (body !== undefined) return parsed ?? body
  if (isNamed(error, "AI_TypeValidationError")) return error["value"]
  return error
}

interface ServerError {
  readonly status: number | undefined
  readonly codes: ReadonlyArray<string>
  readonly text: string | undefined
  readonly delay: string | undefined
  readonly context: number | undefined
  readonly failed: string | undefined
  /** Whether there is an error object. */
  readonly found: boolean
}

const nothing: ServerError = {
  status: undefined,
  codes: [],
  text: undefined,
  delay: undefined,
  context: undefined,
  failed: undefined,
  found: false
}

/** What a gateway passes on of the error of the provider behind it. */
const passedOn = (inner: Fields): ServerError & { readonly from: string } => {
  const metadata = fields(inner["metadata"]) ?? {}
  const raw = textIn(metadata["raw"])
  const parsed = raw === undefined ? metadata["raw"] : Option.getOrUndefined(parseJson(raw))
  const found = fields(parsed) === undefined ? nothing : readServerError(Array.isArray(parsed) ? parsed[0] : parsed)
  const said = found.text ?? raw
  return { ...found, text: said, from: textIn(metadata["provider_name"]) ?? "the provider" }
}

/** Finds the error in `{error: {…}}`, `{error: "…"}`, `{response: {error: {…}}}`, `{detail: "…"}` or the thing itself. */
const readServerError = (body: unknown): ServerError => {
  const outer = fields(body)
  if (outer === undefined) return nothing
  const nested = outer["error"] ?? fields(outer["response"])?.["error"]
  const inner = fields(nested) ?? outer
  const details = (Array.isArray(inner["details"]) ? inner["details"] : []).map((detail) => fields(detail) ?? {})
  const behind = passedOn(inner)
  const said = textIn(nested) ?? textIn(inner["message"]) ?? textIn(inner["detail"]) ?? textIn(inner["msg"])
  const context = inner["n_ctx"]
  const codes = [
    inner["code"],
    inner["type"],
    inner["status"],
    fields(inner["metadata"])?.["error_type"],
    ...behind.codes,
    ...details.flatMap(({ reason, violations }) => [reason, ...quotasOf(violations)])
  ]
  return {
    status: codes.map(httpStatus).find((status) => status !== undefined),
    codes: codes.flatMap((code) => typeof code === "string" ? [code.toLowerCase()] : []),
    text: behind.text === undefined || said === undefined
      ? said ?? behind.text
      : `${said} (${behind.from}: ${behind.text})`,
    delay: details.map(({ retryDelay }) => textIn(retryDelay)).find((delay) => delay !== undefined),
    context: typeof context === "number" ? context : behind.context,
    failed: textIn(inner["failed_generation"]) ?? behind.failed,
    found: nested !== undefined && nested !== null
  }
}

/** The names of the quotas that Google says are used up. */
const quotasOf = (violations: unknown): ReadonlyArray<unknown> =>
  Array.isArray(violations) ? violations.map((violation) => fields(violation)?.["quotaId"]) : []

const httpStatus = (value: unknown): number | undefined => {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value
  return typeof status === "number" && status >= 300 && status <= 599 ? status : undefined
}

const socketCodes =
  /^(E[A-Z]+$|UND_ERR_|HPE_|ERR_(TLS|SSL|SOCKET|STREAM_PREMATURE)|CERT|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED)/

/** The first socket error among the causes. */
const socketError = (error: Fields): SocketError | undefined => {
  const seen = new Set<Fields>()
  let current: Fields | undefined = error
  while (current !== undefined && !seen.has(current)) {
    seen.add(current)
    const code = current["code"]
    if (current instanceof Error && typeof code === "string" && socketCodes.test(code)) {
      // The message is empty if both address families failed.
      return { code, message: current.message, error: current }
    }
    current = fields(current["cause"])
  }
  return undefined
}

const isNamed = (error: Fields, name: string): boolean => error instanceof Error && error.name === name

const originOf = (cause: unknown, found: boolean, isAccepted: boolean): Evidence["origin"] => {
  if (found || !(cause instanceof Error)) return "server"
  if (isAccepted) return "stream"
  if (cause instanceof UnreadableChunk) return "stream"
  const readable = ![
    "AI_JSONParseError",
    "AI_TypeValidationError",
    "AI_InvalidResponseDataError",
    "AI_EmptyResponseBodyError"
  ]
    .includes(cause.name)
  // No answer and no socket error: the request was refused before it was sent.
  return readable && fields(cause)?.["statusCode"] === undefined ? "request" : "stream"
}

const overflowCodes = new Set([
  "context_length_exceeded",
  "exceed_context_size_error",
  "model_context_window_exceeded",
  "model_max_prompt_tokens_exceeded",
  "request_too_large",
  "tokens_limit_reached"
])

const wordings: ReadonlyArray<RegExp> = [
  /context[ _](?:length|window|size)[ _](?:\w+ )?exceed/i,
  /exceed\w*(?: the)?(?: \w+){0,3} (?:context|maximum|model)[ _](?:length|window|size|token|prompt|input|limit)/i,
  /(?:maximum|max|greater than the|available) context[ _](?:length|window|size)/i,
  /maximum (?:prompt|input) length/i,
  /(?:prompt|input|request|conversation)(?: \w+){0,3} (?:is|are) too (?:long|large)/i,
  /prompt too long/i,
  /too many (?:input |prompt )?tokens/i,
  /input token count .{0,40}exceeds/i,
  /exceeds? the (?:limit|maximum) of [\d,]+ tokens/i,
  /exceeded model token limit/i,
  /reduce the length of (?:the|your) (?:messages|prompt|input)/i,
  /`inputs` tokens \+ `max_new_tokens` must be/i
]

/** One request alone exceeds the tokens per minute: waiting does not help, a shorter request does. */
const largerThanAMinute = /request too large for .{0,200}tokens per min/i

/** Whether this error says that the conversation was too long. */
export const isOverflow = (error: {
  readonly status?: number | undefined
  readonly codes: ReadonlyArray<string>
  readonly text: string
}): boolean =>
  error.codes.some((code) => overflowCodes.has(code)) || error.status === 413 ||
  largerThanAMinute.test(error.text) ||
  (error.status !== 429 && wordings.some((wording) => wording.test(error.text)))

/** Where a request went, for the message. */
export interface Place extends Address {
  /** The variable that holds the key, to name when a key is refused. */
  readonly key: string | undefined
  readonly redact: (text: string) => string
}

/** A call that the server did not accept from its model. */
export interface RefusedCall {
  /** The name of the tool, as far as it can be read. */
  readonly name: string
  /** What the model wrote. */
  readonly input: string
  readonly fault: string
}

const callRefused =
  /tool_use_failed|tool call validation failed|(?:invalid|malformed) (?:tool|function) call|(?:error|fail\w*)(?: to)? pars\w+ tool call/i

/** The call that made a server end its answer with an error: the model can fix it. Undefined for any other error. */
export const refusedCall = (cause: unknown, redact: (text: string) => string): RefusedCall | undefined => {
  if (!(cause instanceof Refusal) && fields(cause)?.["error"] === undefined) return undefined
  const { codes, failed, text } = gather(cause)
  if (!says(codes, /^tool_use_failed$/) && !callRefused.test(text)) return undefined
  const input = failed ?? /raw='([^]*?)', err=/.exec(text)?.[1] ?? ""
  const [, quoted, marked] = /"name"\s*:\s*"([^"]+)"|<function=([\w.:-]+)/.exec(input) ?? []
  const [, named] = /tool '([^']+)'|tool ([\w.:-]+) did not match/.exec(text) ?? []
  return {
    name: quoted ?? marked ?? named ?? "unknown",
    input,
    fault: `The server did not accept this call: ${
      brief(redact(text))
    } Write it again, with arguments that fit its schema.`
  }
}

/** Why an answer was cut, even if the AI SDK reports it differently. */
const tooLargeIn = (cause: unknown, depth = 0): TooLarge | undefined =>
  cause instanceof TooLarge
    ? cause
    : depth < 8 && cause instanceof Error
    ? tooLargeIn(cause.cause, depth + 1)
    : undefined

/** The typed error for a thrown value or an `error` part; `isAccepted`: the server had accepted the request. */
export const toModelError = (cause: unknown, place: Place, isAccepted = false): Effect.Effect<ModelError> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const evidence = gather(cause, isAccepted)
    const verdict = asTheServerSays(judge(cause, evidence, place), evidence)
    const isSaid = verdict.reason === "AnswerTooLarge" || cause instanceof WrongAnswer || evidence.network !== undefined
    const detail = isSaid ? "" : brief(place.redact(evidence.text))
    const retryAfter = verdict.retryable ? waitOf(evidence, now) : undefined
    return new ModelError({
      reason: verdict.reason,
      retryable: verdict.retryable,
      message: place.redact(
        sentence(`${place.model} ${verdict.says}${detail === "" ? "" : `: ${detail}`}`) +
          (verdict.advice === undefined ? "" : ` ${verdict.advice}`)
      ),
      ...evidence.status === undefined ? {} : { status: evidence.status },
      ...retryAfter === undefined ? {} : { retryAfter },
      ...verdict.tries === undefined ? {} : { tries: verdict.tries }
    })
  })

/** Some servers know whether a retry of a refused request can help. */
const asTheServerSays = (verdict: Verdict, { headers }: Evidence): Verdict => {
  const said = headers["x-should-retry"]
  return said === "true" || said === "false" ? { ...verdict, retryable: said === "true" } : verdict
}

const judge = (cause: unknown, evidence: Evidence, place: Place): Verdict => {
  if (cause instanceof BrokenStream) return brokenOff(cause, place)
  if (cause instanceof WrongAnswer) return wrongAnswer(cause, place)
  const excess = tooLargeIn(cause)
  if (excess !== undefined) {
    return { reason: "AnswerTooLarge", retryable: false, says: `gave an answer that is too large: ${excess.message}` }
  }
  if (evidence.network !== undefined) return unreachable(evidence.network.code, evidence.network.error, place)
  if (isOverflow(evidence)) return tooLong(evidence, place)
  if (isReasoningRefused(evidence)) {
    return { reason: "reasoning_refused", retryable: false, says: "refused the reasoning of its earlier answers" }
  }
  return byStatus(evidence, place) ?? byCode(evidence, place) ?? insteadOfStream(cause, evidence)
    ?? byOrigin(cause, evidence)
}

/** The context of a local server is often smaller than that of its model. */
const tooLong = ({ context }: Evidence, { baseUrl }: Place): Verdict => ({
  reason: "context_overflow",
  retryable: false,
  says: `says that the conversation is too long for it${context === undefined ? "" : ` (n_ctx is ${context} tokens)`}`,
  ...context !== undefined || isLocal(baseUrl ?? "")
    ? {
      advice:
        "Start the server with a larger context: -c for llama.cpp, OLLAMA_CONTEXT_LENGTH for Ollama (4096 tokens by default), --max-model-len for vLLM."
    }
    : {}
})

/** What providers say of reasoning or a signature that they did not make, or that has expired. */
const refusedReasoning = new RegExp(
  [
    "invalid_encrypted_content",
    "encrypted content .{0,80}could not be",
    "(?:invalid|corrupted|bad) .{0,20}signature",
    "signature.{0,60}(?:invalid|not valid|corrupt|mismatch|could not be verified)",
    "thinking.{0,80}cannot be modified",
    "invalid `?data`? in `?redacted_thinking",
    "of type 'reasoning' was provided without",
    "item with id 'rs_\\w+' not found"
  ].join("|"),
  "i"
)

/** A key may have a signature as well, so the status decides. */
const isReasoningRefused = ({ codes, status, text }: Evidence): boolean =>
  (status === undefined || status === 400 || status === 404 || status === 422) &&
  (says(codes, refusedReasoning) || refusedReasoning.test(text))

/** An error that came as a success, in place of a stream: it would come again, unless it says that the server erred. */
const insteadOfStream = (cause: unknown, { codes }: Evidence): Verdict | undefined =>
  cause instanceof Refusal && cause.statusCode < 300
    ? { reason: "server", retryable: says(codes, /server|internal|^api_error$/), says: "reported an error" }
    : undefined

const brokenOff = ({ reason }: BrokenStream, place: Place): Verdict => ({
  reason,
  retryable: true,
  says: "broke off its answer",
  ...reason === "empty_response" ? { advice: `If this persists, check ${settingOf(place)}.${versionHint(place)}` } : {}
})

const byStatus = ({ codes, location, status, text }: Evidence, place: Place): Verdict | undefined => {
  if (status === undefined || status < 300) return undefined
  if (status < 400) {
    return {
      reason: "invalid_request",
      retryable: false,
      says: `redirects (${status}) to ${
        location ?? "another place"
      }, which is not followed, so that no key goes astray`,
      advice: `Set ${settingOf(place)} to the address that answers.`
    }
  }
  if (status < 500 && isOutOfFunds(codes, text)) return isOnePerDay(codes) ? outForToday : outOfFunds
  if (status === 402) return outOfFunds
  if (status === 401 || status === 403 || says(codes, /api_key_invalid/)) return refused(`(${status})`, place)
  if (status === 408) return { reason: "timeout", retryable: true, says: "took too long by its own measure (408)" }
  if (status === 409) return { reason: "server", retryable: true, says: "was busy with a conflicting request (409)" }
  if (status === 429) return { reason: "rate_limit", retryable: true, says: "asks to slow down (429)" }
  if (status === 529 || (status >= 500 && says(codes, /overload|^unavailable$/))) return overloaded
  if (status >= 500) return { reason: "server", retryable: true, says: `failed (${status})` }
  return {
    reason: "invalid_request",
    retryable: false,
    says: `refused the request (${status})`,
    ...status === 404 || status === 405
      ? { advice: `Check the name of the model and ${settingOf(place)}.${versionHint(place)}` }
      : {}
  }
}

const byCode = ({ codes, text }: Evidence, place: Place): Verdict | undefined => {
  if (isOutOfFunds(codes, text)) return isOnePerDay(codes) ? outForToday : outOfFunds
  if (says(codes, /overload|slow_down|unavailable/)) return overloaded
  if (says(codes, /rate_limit|too_many_requests|resource_exhausted/)) {
    return { reason: "rate_limit", retryable: true, says: "asks to slow down" }
  }
  if (says(codes, /authentication|permission|invalid_api_key/)) return refused("", place)
  if (says(codes, /timeout/)) return { reason: "timeout", retryable: true, says: "took too long by its own measure" }
  if (says(codes, /invalid|bad_request|not_found|unsupported|policy/)) {
    return { reason: "invalid_request", retryable: false, says: "refused the request" }
  }
  return undefined
}

const byOrigin = (cause: unknown, { origin }: Evidence): Verdict => {
  switch (origin) {
    case "server":
      return { reason: "server", retryable: true, says: "reported an error" }
    case "stream":
      return { reason: "bad_response", retryable: true, says: "sent an answer that cannot be read" }
    case "request": {
      const advice = adviceOf(cause)
      return {
        reason: "invalid_request",
        retryable: false,
        says: "cannot be asked this",
        ...advice === undefined ? {} : { advice }
      }
    }
  }
}

const adviceOf = (cause: unknown): string | undefined =>
  cause instanceof Unaskable
    ? cause.advice
    : cause instanceof Error && cause.name === "AI_InvalidArgumentError"
    ? unknownVariant
    : undefined

/** How to fix a request whose variant is unknown. */
export const unknownVariant = "Check the variant of the agent: this API knows no such one."

const overloaded: Verdict = { reason: "overloaded", retryable: true, says: "is overloaded" }
const outOfFunds: Verdict = {
  reason: "rate_limit",
  retryable: false,
  says: "will not answer until its account is paid for",
  advice: "Check the plan and the billing of the account."
}

const outForToday: Verdict = {
  reason: "rate_limit",
  retryable: false,
  says: "has used up its quota for the day",
  advice: "Check the plan of the account, or choose another model."
}

const refused = (status: string, place: Place): Verdict => ({
  reason: "auth",
  retryable: false,
  says: `refused the key ${status}`.trimEnd(),
  advice: place.key === undefined ? "Set key_env for the provider." : `Check ${place.key}.`
})

const says = (codes: ReadonlyArray<string>, pattern: RegExp): boolean => codes.some((code) => pattern.test(code))

/** Google speaks of the quota and the plan whenever it asks to slow down, and names the quotas that are used up. */
const isOutOfFunds = (codes: ReadonlyArray<string>, text: string): boolean =>
  says(codes, /insufficient_quota|billing|insufficient_balance/) || isOnePerDay(codes) ||
  (/exceeded your current quota/i.test(text) && !says(codes, /^resource_exhausted$/)) ||
  /credit balance is too low/i.test(text)

const isOnePerDay = (codes: ReadonlyArray<string>): boolean => says(codes, /perday/)

/** The first 500 characters, on one line, and nothing of an HTML page. */
const brief = (text: string): string => {
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, " ").trim()
  if (line.startsWith("<")) return ""
  return line.length > 500 ? `${line.slice(0, 500)}…` : line
}

const sentence = (text: string): string => /[.!?…]$/.test(text) ? text : `${text}.`

const waitOf = ({ delay, headers, text }: Evidence, now: number): number | undefined => {
  const milliseconds = positive(headers["retry-after-ms"])
  if (milliseconds !== undefined) return milliseconds
  const after = headers["retry-after"]
  const seconds = positive(after)
  if (seconds !== undefined) return Math.round(seconds * 1_000)
  const date = after === undefined || !httpDate.test(after) ? NaN : Date.parse(after)
  if (!Number.isNaN(date)) return Math.max(0, date - now)
  const said = delay === undefined ? text : `retry in ${delay}`
  const [, amount, unit] = /(?:try again|retry) in (\d+(?:\.\d+)?) ?(ms|s)\b/i.exec(said) ?? []
  return amount === undefined ? undefined : Math.round(Number(amount) * (unit === "ms" ? 1 : 1_000))
}

/** `Date.parse` alone would take "-3" for a month. */
const httpDate = /^\s*[A-Z][a-z]{2,8},? .+ GMT\s*$/

const positive = (text: string | undefined): number | undefined =>
  text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined
