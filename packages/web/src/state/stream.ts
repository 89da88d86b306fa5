/** Owns a connection that events come over: reads it, watches that bytes come, and connects again by itself. */
import { type ReadonlySignal, signal } from "@preact/signals"
import type { Event } from "@skein/domain/Event"
import { headers, refusal, RequestFailed } from "./api.ts"
import { after, pause, read } from "./clock.ts"

/** How a connection is: what is shown is only sure to be the present while it is `live`. */
export type Connection = "connecting" | "live" | "stale" | "reconnecting" | "disconnected" | "closed"

/** A heartbeat comes every 15 seconds: without any byte for so long, in milliseconds, it is said, and it is dead. */
const silence = { told: 20_000, dead: 45_000 }

/** How long to wait before each try to connect again, in milliseconds. */
const waits = [0, 250, 500, 1_000, 2_000, 4_000]

/** What to listen to, and what to do about it. */
export interface Listening {
  /** Reads everything anew, and says which stream continues after it. Runs before each connection. */
  readonly prepare: (signal: AbortSignal) => Promise<string>
  /** The stream is open. */
  readonly opened?: () => void
  /** Which kinds of events are read at all. */
  readonly wants: (type: string) => boolean
  readonly see: (event: Event) => void
  /** There is nothing to connect to: the server says why. */
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

/** Events are missing, or the server has ended the stream: everything is read anew. */
class Broken extends Error {}

/** A connection. */
export class EventConnection {
  readonly #listening: Listening
  readonly #state = signal<Connection>("connecting")
  readonly #end = new AbortController()
  #failures = 0
  #heard = read()

  constructor(listening: Listening) {
    this.#listening = listening
    void this.#run()
  }

  /** How it is. */
  get state(): ReadonlySignal<Connection> {
    return this.#state
  }

  /** Ends it. */
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
    this.#heard = read()
    const stopWatch = this.#watch(abort)
    try {
      const path = await this.#listening.prepare(attempt.signal)
      const response = await fetch(path, { headers: headers(), signal: attempt.signal })
      if (!response.ok) throw await refusal(response)
      this.#failures = 0
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
      this.#heard = read()
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

  /** Watches that bytes come; the returned function ends that. */
  #watch(die: () => void): () => void {
    let cancel = () => {}
    const look = () => {
      const quiet = read() - this.#heard
      if (quiet >= silence.dead) return die()
      if (quiet >= silence.told && this.#state.value === "live") this.#state.value = "stale"
      cancel = after(1_000, look)
    }
    look()
    return () => cancel()
  }
}
