/** Owns the keyboard while a view is live: keys come one by one, and do not show. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ReadStream } from "node:tty"
import { isKey, type Key } from "./Key.ts"
import { KeyDecoder } from "./KeyDecoder.ts"

/** What is done with the keys. */
export interface KeyListener {
  /** The keys of one read. */
  readonly onKeys: (keys: ReadonlyArray<Key>) => void
  /** The program is about to be suspended, by Ctrl-Z or by a signal: what is drawn has to be taken away. */
  readonly onSuspend?: () => void
  /** The program continues after it was suspended: the screen has to be drawn again. */
  readonly onResume: () => void
  /** There is no keyboard any more. */
  readonly onClosed: () => void
  /** Writes to the terminal. */
  readonly write: (text: string) => void
  /** Keys as a text editor needs them: Ctrl-C is a key, keys tell their modifiers, and the focus is reported. */
  readonly isEditor?: boolean
}

/** The keyboard while it is read. */
export interface Keyboard {
  /** Leaves the keys to another program that has the terminal, such as an editor, until that has ended. */
  readonly lend: <A, E>(use: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/** How long the rest of a key may take, in milliseconds: then an ESC is the Escape key. */
const patience = 50

/** How long a signal to be suspended may take, in milliseconds: a program that still works then was not suspended. */
const ignored = 200

/** Makes the terminal mark pasted text. */
const markPastes = "\x1b[?2004h"

/** Takes that back; for programs that end without closing the scope as well. */
export const unmarkPastes = "\x1b[?2004l"

/** Focus; modifiers by the kitty protocol, and by xterm's for terminals that do not know it. */
const editorModes = { on: "\x1b[?1004h\x1b[>1u\x1b[>4;1m", off: "\x1b[>4m\x1b[<u\x1b[?1004l" }

/** What ends all modes. */
export const endEditor = `${editorModes.off}${unmarkPastes}`

/** Passes on what is typed until the scope closes. Ctrl-C and Ctrl-Z keep their meaning, but for editors. */
export const keys = (keyboard: ReadStream, listener: KeyListener): Effect.Effect<Keyboard, never, Scope.Scope> =>
  Effect.gen(function*() {
    const decoder = new KeyDecoder()
    const pending = yield* Effect.makeLatch()
    const isEditor = listener.isEditor === true
    const modes = isEditor ? { on: markPastes + editorModes.on, off: endEditor } : { on: markPastes, off: unmarkPastes }
    let reads = 0
    let isLent = false
    let isSuspended = false
    const suspended = yield* Effect.makeLatch()
    /** Suspends this process, or its whole group: the terminal is given back first. */
    const suspend = (target: number) => {
      if (isSuspended) return
      isSuspended = true
      if (!isLent) {
        listener.onSuspend?.()
        listener.write(modes.off)
        keyboard.setRawMode(false)
      }
      // With the usual effect: the system ignores it where no shell could continue the program.
      process.off("SIGTSTP", onStop)
      process.kill(target, "SIGTSTP")
      suspended.unsafeOpen()
    }
    const onStop = () => suspend(process.pid)
    const hand = (typed: ReadonlyArray<Key>) => {
      // In raw mode the terminal makes no signals of keys: the process does it itself.
      if (!isEditor && typed.some((key) => isKey(key, "ctrl+c"))) process.kill(process.pid, "SIGINT")
      else if (typed.some((key) => isKey(key, "ctrl+z"))) suspend(0)
      else if (typed.length > 0) listener.onKeys(typed)
    }
    const onData = (read: Buffer) => {
      reads++
      hand(decoder.decode(read))
      if (decoder.isPending) pending.unsafeOpen()
    }
    const onClosed = () => listener.onClosed()
    const onContinue = () => {
      if (isSuspended) process.on("SIGTSTP", onStop)
      isSuspended = false
      if (isLent) return
      keyboard.setRawMode(true)
      listener.write(modes.on)
      listener.onResume()
    }
    const flush = Effect.gen(function*() {
      yield* pending.await
      yield* pending.close
      const before = reads
      yield* Effect.sleep(patience)
      if (reads === before && decoder.isPending) hand(decoder.flush())
    })
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        keyboard.setRawMode(true)
        listener.write(modes.on)
        keyboard.on("data", onData).on("end", onClosed).on("close", onClosed).on("error", onClosed).resume()
        process.on("SIGCONT", onContinue).on("SIGTSTP", onStop)
      }),
      () =>
        Effect.sync(() => {
          process.off("SIGCONT", onContinue).off("SIGTSTP", onStop)
          // A keyboard that is gone says so here, and somebody has to hear it.
          keyboard.setRawMode(false)
          keyboard.off("data", onData).off("end", onClosed).off("close", onClosed).off("error", onClosed).pause()
          listener.write(modes.off)
        })
    )
    yield* Effect.forkScoped(Effect.forever(flush))
    const notSuspended = Effect.gen(function*() {
      yield* suspended.await
      yield* suspended.close
      yield* Effect.sleep(ignored)
      if (isSuspended) onContinue()
    })
    yield* Effect.forkScoped(Effect.forever(notSuspended))
    const give = Effect.sync(() => {
      isLent = true
      listener.write(modes.off)
      keyboard.setRawMode(false)
      // Else both programs would read, and each would get some of the keys.
      keyboard.pause()
    })
    const takeBack = Effect.sync(() => {
      isLent = false
      keyboard.setRawMode(true)
      listener.write(modes.on)
      keyboard.resume()
    })
    return { lend: (use) => Effect.acquireUseRelease(give, () => use, () => takeBack) } satisfies Keyboard
  })
