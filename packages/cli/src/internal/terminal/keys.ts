/** Owns the keyboard while a view is live: keys come one by one, and do not show. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ReadStream } from "node:tty"

/** Hands on what is typed until the scope closes. Ctrl-C and Ctrl-Z stay what they are. */
export const keys = (keyboard: ReadStream, listener: (text: string) => void): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const onData = (data: Buffer) => {
          const text = data.toString("utf8")
          // In raw mode the terminal makes no signals of keys: the process does it itself.
          if (text.includes("\x03")) process.kill(process.pid, "SIGINT")
          else if (text.includes("\x1a")) suspend()
          else listener(text)
        }
        const suspend = () => {
          keyboard.setRawMode(false)
          process.kill(0, "SIGTSTP")
        }
        const goOn = () => {
          keyboard.setRawMode(true)
          listener("")
        }
        keyboard.setRawMode(true)
        keyboard.on("data", onData).resume()
        process.on("SIGCONT", goOn)
        return { onData, goOn }
      }),
      ({ goOn, onData }) =>
        Effect.sync(() => {
          process.off("SIGCONT", goOn)
          keyboard.off("data", onData).pause()
          keyboard.setRawMode(false)
        })
    )
  )
