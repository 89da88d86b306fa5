/** What `skein serve` does: runs a server, or talks to the running one. */
import * as Effect from "effect/Effect"
import type { CommandError } from "../../CommandSpec.ts"
import type { Stdio } from "../../Stdio.ts"
import type { Stop } from "../../Stop.ts"
import { UsageError } from "../../UsageError.ts"
import { platform } from "../app.ts"
import { printUrl, stopServer } from "./control.ts"
import { startDetached } from "./detach.ts"
import { type ServeFlags, startServer } from "./start.ts"

interface Flags extends ServeFlags {
  readonly detach: boolean
  readonly url: boolean
  readonly stop: boolean
  readonly db: string | undefined
}

/** Runs it. */
export const executeServe = (
  { flags }: { readonly flags: Flags }
): Effect.Effect<number, CommandError, Stdio | Stop> => {
  const { detach, stop, url } = flags
  if ([detach, stop, url].filter((each) => each).length > 1) {
    return new UsageError({ message: "--detach, --url and --stop exclude each other. Leave all but one of them out." })
  }
  if (stop && flags.open) return new UsageError({ message: "--stop ends the server: leave --open out." })
  const work = url ? printUrl(flags) : stop ? stopServer : detach ? startDetached(flags) : startServer(flags)
  return Effect.scoped(Effect.provide(work, platform({ database: flags.db })))
}
