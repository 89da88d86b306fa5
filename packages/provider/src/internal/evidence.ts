/** Collects what an error says, in the shapes of the AI SDK, of this package and of servers. */
import * as Option from "effect/Option"
import { UnreadableChunk } from "./errors.ts"
import { type Fields, fields, parseJson } from "./json.ts"

/** An error of a socket. */
interface SocketError {
  readonly code: string
  readonly message: string
  readonly error: Error
}

/** What an error says about a failure. */
export interface Evidence {
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

const text = (value: unknown): string | undefined => typeof value === "string" && value !== "" ? value : undefined

/** Reads a thrown value, or the error of an `error` part; `isAccepted`: the server had accepted the request. */
export const gather = (cause: unknown, isAccepted = false): Evidence => {
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
    codes: [...response.codes, text(error["code"]), text(error["type"])]
      .flatMap((code) => code === undefined ? [] : [code.toLowerCase()]),
    text: socket?.message ?? response.text ?? text(body) ?? text(error["message"]) ?? "",
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
  const body = text(error["responseBody"])
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
  const raw = text(metadata["raw"])
  const parsed = raw === undefined ? metadata["raw"] : Option.getOrUndefined(parseJson(raw))
  const found = fields(parsed) === undefined ? nothing : readServerError(Array.isArray(parsed) ? parsed[0] : parsed)
  const said = found.text ?? raw
  return { ...found, text: said, from: text(metadata["provider_name"]) ?? "the provider" }
}

/** Finds the error in `{error: {…}}`, `{error: "…"}`, `{response: {error: {…}}}`, `{detail: "…"}` or the thing itself. */
const readServerError = (body: unknown): ServerError => {
  const outer = fields(body)
  if (outer === undefined) return nothing
  const nested = outer["error"] ?? fields(outer["response"])?.["error"]
  const inner = fields(nested) ?? outer
  const details = (Array.isArray(inner["details"]) ? inner["details"] : []).map((detail) => fields(detail) ?? {})
  const behind = passedOn(inner)
  const said = text(nested) ?? text(inner["message"]) ?? text(inner["detail"]) ?? text(inner["msg"])
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
    delay: details.map(({ retryDelay }) => text(retryDelay)).find((delay) => delay !== undefined),
    context: typeof context === "number" ? context : behind.context,
    failed: text(inner["failed_generation"]) ?? behind.failed,
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
