/** Owns the state of a run: what was denied, which events a slow reader did not get, and what is left to do. */
import type { BackendError } from "@skein/backend/BackendError"
import type { StorageError } from "@skein/core/StorageError"
import type { Event, PermissionRequest } from "@skein/domain/Event"
import type { PartID, SessionID } from "@skein/domain/Id"
import type * as Effect from "effect/Effect"
import { mostWaiting, type Streams } from "../../Stdio.ts"
import type { Unfinished } from "./result.ts"

/** The requests that were not permitted so far, found by their questions. */
export class Denials {
  readonly #asked = new Map<string, PermissionRequest>()
  readonly #denied: Array<PermissionRequest> = []

  /** Records a question that was asked before the events began. */
  asked(request: PermissionRequest): void {
    this.#asked.set(request.id, request)
  }

  /** Reads an event. */
  see(event: Event): void {
    if (event.type === "permission.asked") this.#asked.set(event.properties.id, event.properties)
    if (event.type !== "permission.replied") return
    const request = this.#asked.get(event.properties.id)
    this.#asked.delete(event.properties.id)
    if (request !== undefined && event.properties.reply === "reject" && event.properties.withdrawn !== true) {
      this.#denied.push(request)
    }
  }

  /** How many requests were denied. */
  get count(): number {
    return this.#denied.length
  }

  /** Whether the mode `auto` would have allowed one of them. */
  get autoHelps(): boolean {
    return this.#denied.some(({ needsPerson }) => needsPerson !== true)
  }

  /** The rule that would allow the first of those that a rule can allow, as config has it. */
  get rule(): string | undefined {
    const request = this.#denied.find(({ needsPerson, permission }) =>
      needsPerson !== true && permission !== "bash_credentials"
    )
    const pattern = request?.always[0] ?? request?.patterns[0]
    return request === undefined || pattern === undefined
      ? undefined
      : `"permission": ${JSON.stringify({ [request.permission]: { [pattern]: "allow" } })}`
  }

  /** One line about them: the number, and the first few. */
  get summary(): string {
    const named = this.#denied.slice(0, 3).map(({ path, patterns, permission }) =>
      `${permission} ${patterns.join(", ")} (${path.join(" > ")})`
    )
    const more = this.count - named.length
    return `${this.count === 1 ? "1 request was" : `${this.count} requests were`} not permitted: ${named.join("; ")}${
      more > 0 ? `; and ${more} more` : ""
    }`
  }
}

/** The events that a run's output has skipped so far. */
export class LeftOut {
  readonly #waiting: Streams["waiting"]
  /** Parts with missing deltas. Their next event contains the whole part. */
  readonly #holed = new Set<PartID>()
  /** Calls whose `running` event was printed. Until their result, only progress follows. */
  readonly #running = new Set<PartID>()
  /** How many events were skipped. */
  count = 0
  /** Why events did not even arrive, as the server says it; undefined if all did. */
  missed: string | undefined = undefined

  constructor({ waiting }: Pick<Streams, "waiting">) {
    this.#waiting = waiting
  }

  /** Decides whether to skip an event, and counts it. */
  takes(event: Event): boolean {
    const isLeftOut = this.#isPassing(event)
    if (isLeftOut) this.count++
    return isLeftOut
  }

  #isPassing(event: Event): boolean {
    const isFull = this.#waiting() > mostWaiting
    switch (event.type) {
      case "message.part.delta": {
        const { partID } = event.properties
        if (isFull) this.#holed.add(partID)
        return this.#holed.has(partID)
      }
      case "message.part.updated": {
        const { id, type, ...part } = event.properties.part
        this.#holed.delete(id)
        if (type !== "tool" || !("state" in part)) return false
        if (part.state.status !== "running") {
          this.#running.delete(id)
          return false
        }
        if (isFull && this.#running.has(id)) return true
        this.#running.add(id)
        return false
      }
      case "session.status":
      case "background_task.progress":
        return isFull
      default:
        return false
    }
  }
}

const reasons: Readonly<Record<string, string>> = {
  unreadable: "the server cannot read them",
  too_old: "they are no longer stored"
}

/** The message about events that did not arrive. */
export const missedText = (reason: string): string =>
  `Events are missing in the output, because ${
    reasons[reason] ?? `of this: ${reason}`
  }. What they changed is stored: see \`skein sessions show ID\`.`

/** The message about skipped events. */
export const leftOutText = (count: number): string =>
  `The output was read too slowly: ${count} ${
    count === 1 ? "event" : "events"
  } of progress (pieces of text, statuses) were left out. Results are complete.`

/** The state of a run. */
export interface Progress {
  /** What to show if the run does not finish. */
  left: Unfinished
  /** What to wait for after the result was printed. Nothing more is printed then. */
  after: Effect.Effect<void>
  isOver: boolean
  /** Whether the run works in mode `auto`. */
  isAuto: boolean
  /** Fails if the database is gone, with all that was stored. */
  intact: Effect.Effect<void, BackendError | StorageError>
  /** Whether somebody has deleted this session. */
  isDeleted: (id: SessionID) => Effect.Effect<boolean>
  /** The server that continues the turn, if the user left it running. */
  goesOnAt: string | undefined
  /** Whether what had to stop is known to have stopped. */
  isStopConfirmed: boolean
  readonly denials: Denials
  readonly leftOut: LeftOut
}
