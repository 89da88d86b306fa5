/** A client of the SDK and an agent in one process, over a backend with scripted models; every frame is checked. */
import {
  type AnyMessage,
  client,
  type ClientApp,
  type ClientCapabilities,
  type ClientContext,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type Stream
} from "@agentclientprotocol/sdk/unstable"
import { serve } from "@skein/acp/AcpAgent"
import type { AcpHost } from "@skein/acp/AcpHost"
import { Backend } from "@skein/backend/Backend"
import * as LocalBackend from "@skein/backend/LocalBackend"
import { type Frame, makeChecker, type Sender } from "@skein/testing/AcpFrames"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { expect } from "vitest"

/** How a client of a test behaves. */
export interface TestClient {
  readonly capabilities?: ClientCapabilities
  /** Answers a request for permission; by default it is allowed once. */
  readonly permit?: (
    request: RequestPermissionRequest,
    signal: AbortSignal
  ) => RequestPermissionResponse | Promise<RequestPermissionResponse>
  readonly elicit?: (request: CreateElicitationRequest) => CreateElicitationResponse
  readonly host?: Partial<AcpHost>
}

/** An update, and the session that it was told for. */
export interface Heard {
  readonly sessionId: string
  readonly update: SessionUpdate
}

/** Allows what is asked. */
export const select = (optionId: string): RequestPermissionResponse => ({ outcome: { outcome: "selected", optionId } })

/** Something that happens once, and can be waited for. */
export const latch = () => {
  let open = () => {}
  const opened = new Promise<void>((resolve) => open = resolve)
  return { open, opened }
}

const text = new TextEncoder()
const words = new TextDecoder()

/** A connection in progress. */
interface Connected {
  readonly agent: ClientContext
  /** What the client heard so far, in order. */
  readonly heard: ReadonlyArray<Heard>
  readonly frames: ReadonlyArray<{ readonly from: Sender; readonly frame: Frame }>
  /** Resolves with the first update that fits, past or future. */
  readonly until: (fits: (heard: Heard) => boolean) => Promise<Heard>
  /** Resolves once the frames fit. */
  readonly untilFrames: (fits: (frames: Connected["frames"]) => boolean) => Promise<void>
  /** Sends bytes as they are. */
  readonly raw: (line: string) => Promise<void>
  /** Goes away without a word, as a client that was killed. */
  readonly vanish: () => Promise<void>
  /** Ends when the agent has ended. */
  readonly ended: Effect.Effect<void>
}

const appOf = ({ elicit, permit = () => select("once") }: TestClient, hear: (heard: Heard) => void): ClientApp =>
  client({ name: "test" })
    .onNotification("session/update", ({ params }) => hear(params))
    .onRequest("session/request_permission", ({ params, signal }) => permit(params, signal))
    .onRequest("elicitation/create", ({ params }) => elicit?.(params) ?? { action: "decline" })

/** The lines that one side writes, as messages of the other side, each checked. */
const lines = (see: (frame: Frame) => void) => {
  let rest = ""
  return new TransformStream<Uint8Array, AnyMessage>({
    transform: (bytes, controller) => {
      const [...whole] = `${rest}${words.decode(bytes, { stream: true })}`.split("\n")
      rest = whole.pop() ?? ""
      for (const line of whole) {
        const frame = JSON.parse(line) as AnyMessage
        see(frame as Frame)
        controller.enqueue(frame)
      }
    }
  })
}

/** Connects a client to an agent over the backend of the context. */
export const connect = (given: TestClient = {}) =>
  Effect.gen(function*() {
    const toAgent = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark: 1_000 }, {
      highWaterMark: 1_000
    })
    const toClient = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark: 1_000 }, {
      highWaterMark: 1_000
    })
    const check = makeChecker(given.capabilities?.subagents === undefined)
    const frames: Array<{ readonly from: Sender; readonly frame: Frame }> = []
    const wrong: Array<string> = []
    const waiting = new Set<() => void>()
    const see = (from: Sender) => (frame: Frame) => {
      frames.push({ from, frame })
      wrong.push(...check(from, frame))
      for (const look of waiting) look()
    }
    const fiber = yield* Effect.forkScoped(serve({
      version: "0.0.0",
      input: toAgent.readable,
      output: toClient.writable,
      mode: undefined,
      agent: undefined,
      model: undefined,
      checkDirectory: () => Effect.void,
      isSameDirectory: (one, other) => Effect.succeed(one === other),
      useServers: () => Effect.succeed([]),
      useFiles: () => Effect.succeed([]),
      ...given.host
    }))
    const heard: Array<Heard> = []
    const app = appOf(given, (update) => {
      heard.push(update)
      for (const look of waiting) look()
    })
    const writer = toAgent.writable.getWriter()
    const stream: Stream = {
      readable: toClient.readable.pipeThrough(lines(see("agent"))),
      writable: new WritableStream({
        write: (message) => {
          see("client")(message as Frame)
          return writer.write(text.encode(`${JSON.stringify(message)}\n`))
        }
      })
    }
    const connection = app.connect(stream)
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => {
        connection.close()
        return writer.close().catch(() => undefined)
      }).pipe(
        Effect.zipRight(Fiber.await(fiber)),
        Effect.zipRight(Effect.sync(() => expect(wrong).toEqual([])))
      )
    )
    const agent = connection.agent
    yield* Effect.promise(() =>
      agent.request("initialize", { protocolVersion: 1, clientCapabilities: given.capabilities ?? {} })
    )
    return {
      agent,
      heard,
      frames,
      until: (fits) =>
        new Promise((resolve) => {
          const look = () => {
            const found = heard.find(fits)
            if (found === undefined) return
            waiting.delete(look)
            resolve(found)
          }
          waiting.add(look)
          look()
        }),
      untilFrames: (fits) =>
        new Promise((resolve) => {
          const look = () => {
            if (!fits(frames)) return
            waiting.delete(look)
            resolve()
          }
          waiting.add(look)
          look()
        }),
      raw: (line) => {
        // What is no frame has no answer to check.
        const frames = line.split("\n").flatMap((each) => Option.toArray(Option.liftThrowable(JSON.parse)(each)))
        for (const frame of frames) if (typeof frame === "object" && !Array.isArray(frame)) check("client", frame)
        return writer.write(text.encode(line))
      },
      vanish: () => {
        connection.close()
        return writer.close()
      },
      ended: Effect.asVoid(Fiber.await(fiber))
    } satisfies Connected
  })

/** A backend in this process, over scripted models; a person answers its questions. */
export const backend = (
  scripts: SkeinTest.Scripts,
  options: SkeinTest.SkeinTestOptions = {}
): Layer.Layer<Backend> => Layer.provide(LocalBackend.layer(), SkeinTest.layer(scripts, { asks: "person", ...options }))
