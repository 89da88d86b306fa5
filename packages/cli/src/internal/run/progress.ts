/** Owns the state of a run: what was denied, which events a slow reader did not get, and what is left to do. */
import type { BackendError } from "@skein/backend/BackendError"
import type { LoadedConfig } from "@skein/config/ConfigFiles"
import { covers } from "@skein/core/Ruleset"
import type { StorageError } from "@skein/core/StorageError"
import type { Event, PermissionRequest } from "@skein/domain/Event"
import type { PartID, SessionID } from "@skein/domain/Id"
import type * as Effect from "effect/Effect"
import { mostWaiting, type Streams } from "../../Stdio.ts"
import type { Unfinished } from "./result.ts"

/** How many requests or rules a line names. */
const named = 3

/** A rule of the project's files that asks. No rule of the user's can lift it. */
interface AskingRule {
  /** The agent that it is about, with all below it; undefined if it is about all. */
  readonly agent: string | undefined
  readonly permission: string
  readonly pattern: string
  /** Where it is, in words. */
  readonly place: string
}

const asks = ({ agent, pattern, permission }: AskingRule, request: PermissionRequest): boolean =>
  (agent === undefined || request.path.includes(agent)) && covers(permission, request.permission) &&
  request.patterns.some((each) => covers(pattern, each))

type Config = Pick<LoadedConfig, "entries" | "projectKeys">

const askingRules = ({ entries, projectKeys }: Config): ReadonlyArray<AskingRule> =>
  entries.flatMap(({ origin, path, value }) => {
    const key = path.join(".")
    const [agent, rule] = path[0] === "agent" ? [path[1], path.slice(2)] : [undefined, path]
    const [kind, permission = "*", pattern = "*"] = rule
    return (kind === "permission" || kind === "ceiling") && value === "ask" && projectKeys.has(key)
      ? [{ agent, permission, pattern, place: `${key} in ${origin}` }]
      : []
  })

/** What would allow what was denied. */
interface Remedy {
  /** Rules for the user's config; undefined if none would help. */
  readonly rules: string | undefined
  /** The rules of the project's files to change. */
  readonly toChange: ReadonlyArray<string>
  /** Whether a person who is asked about these can answer for ever. */
  readonly canLast: boolean
  /** Whether that covers all that was denied. */
  readonly isWhole: boolean
}

/** The requests that were not permitted so far, found by their questions. */
export class Denials {
  #asking: ReadonlyArray<AskingRule> = []
  readonly #asked = new Map<string, PermissionRequest>()
  readonly #denied: Array<PermissionRequest> = []

  /** Sets the config of the run. */
  under(config: Config): void {
    this.#asking = askingRules(config)
  }

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

  /** What would allow those that a rule can allow. */
  get remedy(): Remedy {
    const open = this.#denied.filter(({ needsPerson, permission }) =>
      needsPerson !== true && permission !== "bash_credentials"
    )
    const asking = open.map((request) => this.#asking.filter((rule) => asks(rule, request)))
    const own = open.filter((_, i) => asking[i]?.length === 0)
    const permission: Record<string, Record<string, "allow">> = {}
    for (const request of own.slice(0, named)) {
      const patterns = request.always.length > 0 ? request.always : request.patterns
      const allowed = patterns.map((pattern) => [pattern, "allow"] as const)
      permission[request.permission] = { ...permission[request.permission], ...Object.fromEntries(allowed) }
    }
    return {
      rules: own.length === 0 ? undefined : `"permission": ${JSON.stringify(permission)}`,
      toChange: [...new Set(asking.flat().map(({ place }) => place))].slice(0, named),
      canLast: own.length < open.length && open.every((request) => own.includes(request) || request.always.length > 0),
      isWhole: own.length <= named && open.length === this.count
    }
  }

  /** One line about them: the number, and the first few. */
  get summary(): string {
    const first = this.#denied.slice(0, named).map(({ path, patterns, permission }) =>
      `${permission} ${patterns.join(", ")} (${path.join(" > ")})`
    )
    const more = this.count - first.length
    return `${this.count === 1 ? "1 request was" : `${this.count} requests were`} not permitted: ${first.join("; ")}${
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
