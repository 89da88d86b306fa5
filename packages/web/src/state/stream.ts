/** Owns a connection for events: reads it, checks that data arrives, and reconnects automatically. */
import { type ReadonlySignal, signal } from "@preact/signals"
import type { Event } from "@skein/domain/Event"
import { headers, refusal, RequestFailed } from "./api.ts"
import { after, pause, read } from "./clock.ts"

/** The state of a connection. What is shown is only certain to be current while it is `live`. */
export type Connection = "connecting" | "live" | "stale" | "reconnecting" | "disconnected" | "closed"

/**
 * Heartbeats arrive every two seconds. Without any data for this long, in milliseconds, the connection is shown as
 * stale, and is dead.
 */
const silence = { told: 6_000, dead: 15_000 }

/** How long to wait before each attempt to reconnect, in milliseconds. */
const waits = [0, 250, 500, 1_000, 2_000, 4_000]

/** What to stream, and how to handle it. */
export interface Listening {
  /** Reloads everything, and returns the stream that continues after it. Runs before each connection. */
  readonly prepare: (signal: AbortSignal) => Promise<string>
  /** The stream is open. */
  readonly opened?: () => void
  /** Which kinds of events to decode. */
  readonly wants: (type: string) => boolean
  readonly see: (event: Event) => void
  /** There is nothing to connect to. The server says why. */
  readonly refused: (error: RequestFailed) => void
}

interface Block {
  readonly type: string
  readonly data: string
}

const blockOf = (text: string): Block => {
  let type = "message"
  let data = ""
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) type = line.slice(7)
    else if (line.startsWith("data: ")) data = line.slice(6)
  }
  return { type, data }
}

/** Events are missing, or the server has ended the stream: reload everything. */
class Broken extends Error {}

/** A connection. */
export class EventConnection {
  readonly #listening: Listening
  readonly #state = signal<Connection>("connecting")
  readonly #end = new AbortController()
  #failures = 0
  /** When data arrived last, or an attempt to connect began. */
  #quietSince = read()
  readonly #heard = signal(read())

  constructor(listening: Listening) {
    this.#listening = listening
    void this.#run()
  }

  /** Its state. */
  get state(): ReadonlySignal<Connection> {
    return this.#state
  }

  /** When data arrived last. */
  get heard(): ReadonlySignal<number> {
    return this.#heard
  }

  /** Closes it. */
  close(): void {
    this.#state.value = "closed"
    this.#end.abort()
  }

  async #run(): Promise<void> {
    const { signal: ended } = this.#end
    while (!ended.aborted) {
      try {
        await this.#connect()
      } catch (error) {
        if (ended.aborted) return
        if (error instanceof RequestFailed && error.status >= 400 && error.status < 500) {
          this.close()
          this.#listening.refused(error)
          return
        }
      }
      this.#failures++
      this.#state.value = this.#failures > 2 ? "disconnected" : "reconnecting"
      await pause(waits[Math.min(this.#failures, waits.length) - 1] ?? 0, ended)
    }
  }

  /** Reads until the connection ends. */
  async #connect(): Promise<void> {
    const attempt = new AbortController()
    const abort = () => attempt.abort()
    this.#end.signal.addEventListener("abort", abort, { once: true })
    this.#quietSince = read()
    const stopWatch = this.#watch(abort)
    try {
      const path = await this.#listening.prepare(attempt.signal)
      const response = await fetch(path, { redirect: "error", headers: headers(), signal: attempt.signal })
      if (!response.ok) throw await refusal(response)
      this.#failures = 0
      this.#heard.value = read()
      this.#state.value = "live"
      this.#listening.opened?.()
      await this.#read(response)
    } finally {
      stopWatch()
      this.#end.signal.removeEventListener("abort", abort)
      attempt.abort()
    }
  }

  async #read(response: Response): Promise<void> {
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ""
    for (;;) {
      const piece = await reader?.read()
      if (piece === undefined || piece.done) throw new Broken()
      this.#quietSince = read()
      this.#heard.value = this.#quietSince
      if (this.#state.value === "stale") this.#state.value = "live"
      const blocks = `${rest}${piece.value}`.split("\n\n")
      rest = blocks.pop() ?? ""
      for (const block of blocks) this.#take(blockOf(block))
    }
  }

  #take({ data, type }: Block): void {
    if (type === "reset") throw new Broken()
    if (data !== "" && type !== "heartbeat" && this.#listening.wants(type)) {
      this.#listening.see(JSON.parse(data) as Event)
    }
  }

  /** Checks that data arrives. The returned function ends that. */
  #watch(die: () => void): () => void {
    let cancel = () => {}
    const look = () => {
      const quiet = read() - this.#quietSince
      if (quiet >= silence.dead) return die()
      if (quiet >= silence.told && this.#state.value === "live") this.#state.value = "stale"
      cancel = after(1_000, look)
    }
    look()
    return () => cancel()
  }
}
