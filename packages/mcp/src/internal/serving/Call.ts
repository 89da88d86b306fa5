/** Reads what a request says about its client: its name, what it can do, and how it gets progress; and refuses requests. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  type Server,
  type ServerContext
} from "@modelcontextprotocol/server"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { tasksExtension } from "../serverTask.ts"

/** The client can act on it: the message says what is wrong, and how to fix it. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", { message: Schema.String }) {}

/** The same for an error of a service. */
export const refusedBy = ({ message }: { readonly message: string }): Refused => new Refused({ message })

/** One request of a client. */
export interface Call {
  readonly context: ServerContext
  /** Whether it came by the revision of 2026-07-28: then it is answered once, and asks nothing in between. */
  readonly isModern: boolean
  /** The name that the client gives itself. */
  readonly client: string
  /** Whether the client shows forms to a person. */
  readonly canAsk: boolean
  /** Whether the client knows tasks by the extension. */
  readonly knowsTasks: boolean
  /** Tells how far a call is; nothing where the client does not want to hear it. */
  readonly progress: ((message: string) => void) | undefined
}

/** A bare `elicitation` stands for forms: it is older than the kinds of it. */
const showsForms = ({ elicitation }: ClientCapabilities): boolean =>
  elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)

const progressOf = ({ mcpReq: { _meta, notify } }: ServerContext): Call["progress"] => {
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return undefined
  let progress = 0
  return (message) => {
    progress += 1
    // A disconnected client gets nothing.
    notify({ method: "notifications/progress", params: { progressToken, progress, message } }).catch(() => undefined)
  }
}

/** Reads a request. */
export const callOf = (server: Server, context: ServerContext): Call => {
  const { envelope } = context.mcpReq
  const stated = envelope as Readonly<Record<string, unknown>> | undefined
  const capabilities =
    (stated?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {}) as ClientCapabilities
  const info = (stated?.[CLIENT_INFO_META_KEY] ?? server.getClientVersion()) as Implementation | undefined
  return {
    context,
    isModern: envelope !== undefined,
    client: info?.title ?? info?.name ?? "",
    canAsk: showsForms(capabilities),
    knowsTasks: envelope !== undefined && capabilities.extensions?.[tasksExtension] !== undefined,
    progress: progressOf(context)
  }
}

/** Ends when the client cancels the request, or goes away. */
export const gone = ({ context: { mcpReq: { signal } } }: Call): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const heard = () => resume(Effect.void)
    if (signal.aborted) return heard()
    signal.addEventListener("abort", heard, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", heard))
  })
