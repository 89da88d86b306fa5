/** Finds servers of models that listen on this machine: each place is tried for a moment, and sent nothing. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import { connect } from "node:net"

/** How long a connection may take, in milliseconds. A program of this machine takes it at once. */
const patience = 200

const ofThisMachine = new Set(["127.0.0.1", "localhost", "[::1]"])

const listens = ({ hostname, port }: URL): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => {
    const socket = connect({ host: hostname.replaceAll(/[[\]]/g, ""), port: Number(port) })
    const end = (isThere: boolean) => {
      socket.destroy()
      resume(Effect.succeed(isThere))
    }
    socket.once("connect", () => end(true)).once("error", () => end(false))
    return Effect.sync(() => socket.destroy())
  }).pipe(
    Effect.timeoutTo({ duration: patience, onTimeout: () => false, onSuccess: (isThere) => isThere })
  )

/** The providers without a key whose place on this machine takes connections. */
export const localServers: Effect.Effect<ReadonlyArray<string>> = Effect.gen(function*() {
  // Loaded only where there is no key.
  const { presets } = yield* Effect.promise(() => import("@skein/provider/OpenAiCompatible"))
  const found = yield* Effect.forEach(
    Object.entries(presets),
    ([id, preset]) =>
      Effect.gen(function*() {
        if (!("isLocal" in preset)) return []
        const url = yield* Config.withDefault(Config.url(preset.baseUrlName), new URL(preset.baseUrl))
        return ofThisMachine.has(url.hostname) && (yield* listens(url)) ? [id] : []
      }).pipe(Effect.orElseSucceed((): ReadonlyArray<string> => [])),
    { concurrency: "unbounded" }
  )
  return found.flat()
})
