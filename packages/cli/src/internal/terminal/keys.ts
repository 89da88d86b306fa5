/** Owns the keyboard while a view is live: keys come one by one, and do not show. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Streams } from "../../Stdio.ts"

/** Hands on what is typed until the scope closes. Ctrl-C stays a signal. */
export const keys = (stdio: Streams, listener: (text: string) => void): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const input = stdio.input()
        const onData = (data: Buffer) => {
          const text = data.toString("utf8")
          // In raw mode the terminal makes no signals of keys: the process does it itself.
          if (text.includes("\x03")) process.kill(process.pid, "SIGINT")
          else listener(text)
        }
        input.setRawMode?.(true)
        input.on("data", onData)
        input.resume()
        return onData
      }),
      (onData) =>
        Effect.sync(() => {
          const input = stdio.input()
          input.off("data", onData)
          input.setRawMode?.(false)
          input.pause()
        })
    )
  )
