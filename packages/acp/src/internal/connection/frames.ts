/**
 * Reads the frames of a client: one that is too long is left out and answered, and methods get the others in the order
 * in which they were sent. Reports what could not be done.
 */
import { type AnyMessage, type JsonRpcId, RequestError } from "@agentclientprotocol/sdk/unstable"
import type { BackendError } from "@skein/backend/BackendError"
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"

/** A request that makes no sense here, with what to do instead. */
export interface BadRequest {
  readonly _tag: "BadRequest"
  readonly message: string
}

/** A session that this connection has not opened, or that is not there. */
interface UnknownSession {
  readonly _tag: "UnknownSession"
  readonly sessionId: string
}

/** Why a request fails. */
export type Failure = BackendError | BadRequest | UnknownSession

/** Makes a bad request. */
export const badRequest = (message: string): BadRequest => ({ _tag: "BadRequest", message })

const invalid = new Set([
  "BadRequest",
  "AgentNotFound",
  "BadCursor",
  "CommandInvalid",
  "CommandNotFound",
  "ModeRefused",
  "ModelUnavailable",
  "PromptInvalid",
  "ProjectUnavailable"
])

/** The error that the client gets. An unexpected one has no details. */
export const errorOf = (cause: Cause.Cause<Failure>): RequestError => {
  const failure = Option.getOrUndefined(Cause.failureOption(cause))
  if (failure === undefined) {
    return new RequestError(-32603, Cause.isInterruptedOnly(cause) ? "The agent is ending." : "Internal error", {
      details: Cause.isInterruptedOnly(cause) ? undefined : Cause.pretty(cause).split("\n", 1)[0]
    })
  }
  if (failure._tag === "UnknownSession") return RequestError.sessionNotFound(failure.sessionId)
  return new RequestError(invalid.has(failure._tag) ? -32602 : -32603, failure.message, { tag: failure._tag })
}

/** The most bytes of a frame: what the SDK takes. */
const longestFrame = 32 * 1024 * 1024

const newline = 0x0a

/** How much of a frame shows what it is, in bytes. */
const headLength = 1_024

/** What is known of a frame from its beginning. */
type LongFrame =
  | { readonly type: "request"; readonly id: JsonRpcId }
  | { readonly type: "response"; readonly id: JsonRpcId }
  | { readonly type: "unknown" }

const member = String.raw`"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*`

/** An id is only taken where nothing but plain members is before it: further in, it may belong to something else. */
const begins = new RegExp(
  String.raw`^\s*\{\s*((?:${member})*)"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,\s*((?:${member})*)"(\w+)"`
)

/** What a frame is, by its beginning. */
const frameOf = (head: string): LongFrame => {
  const [, before, id, after, next] = begins.exec(head) ?? []
  if (before === undefined || id === undefined || after === undefined) return { type: "unknown" }
  const parsed: JsonRpcId = id.startsWith("\"") ? id.slice(1, -1) : Number(id)
  if (`${before}${after}`.includes("\"method\"")) return { type: "request", id: parsed }
  return next === "result" || next === "error" ? { type: "response", id: parsed } : { type: "unknown" }
}

const tooLong = {
  code: -32600,
  message: `The message has more than ${
    longestFrame / 1024 / 1024
  } MB, and was left out. Send less at once, such as a link to a file.`
}

/**
 * Answers a frame that was left out. Gives what stands for it: an answer of the client counts as one that failed, and
 * ends the request.
 */
export const answerTo = (frame: LongFrame, send: (message: AnyMessage) => void): Uint8Array | undefined => {
  if (frame.type === "response") {
    return new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", id: frame.id, error: tooLong })}\n`)
  }
  send({ jsonrpc: "2.0", id: frame.type === "request" ? frame.id : null, error: tooLong })
  return undefined
}

/** The frames of a client without those that are too long. `leftOut` gets each as soon as it is, and may replace it. */
export const bounded = (
  input: ReadableStream<Uint8Array>,
  leftOut: (frame: LongFrame) => Uint8Array | undefined,
  longest: number = longestFrame
): ReadableStream<Uint8Array> => {
  let held: Array<Uint8Array> = []
  let size = 0
  let isOver = false
  const headOf = () => {
    const head = new Uint8Array(Math.min(size, headLength))
    let at = 0
    for (const piece of held) {
      const part = piece.subarray(0, head.length - at)
      head.set(part, at)
      at += part.length
    }
    return new TextDecoder().decode(head)
  }
  const next = () => {
    held = []
    size = 0
    isOver = false
  }
  return input.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, controller) => {
        for (let start = 0; start < bytes.length;) {
          const end = bytes.indexOf(newline, start)
          const piece = bytes.subarray(start, end < 0 ? undefined : end + 1)
          start += piece.length
          if (!isOver) {
            held.push(piece)
            size += piece.length
            isOver = size > longest
            if (isOver) {
              const instead = leftOut(frameOf(headOf()))
              held = []
              if (instead !== undefined) controller.enqueue(instead)
            }
          }
          if (end < 0) continue
          for (const each of held) controller.enqueue(each)
          next()
        }
      },
      flush: (controller) => {
        for (const each of held) controller.enqueue(each)
      }
    })
  )
}

/**
 * The frames, each once the method of the one before it was called. The SDK calls some methods a few microtasks later than
 * others, so a prompt could overtake the cancel that was sent before it. `pause` resolves when all microtasks have run.
 */
export const inOrder = (
  frames: ReadableStream<AnyMessage>,
  pause: () => Promise<void>
): ReadableStream<AnyMessage> =>
  frames.pipeThrough(
    new TransformStream<AnyMessage, AnyMessage>({
      transform: (frame, controller) => {
        controller.enqueue(frame)
        return pause()
      }
    })
  )
