/**
 * Decides which questions of other runners are shown: those of trees that the runner works in, each once. Another program
 * that listens where a runner was could otherwise list the question of another tree with a text of its own.
 */
import { findSession } from "@skein/core/SessionLookup"
import type { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import { PendingAsk } from "@skein/domain/TreeSnapshot"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Cluster } from "../Cluster.ts"
import { isAskedIn } from "./openAsk.ts"

/** What a runner lists. */
export interface Listed {
  readonly target: string
  readonly items: ReadonlyArray<unknown>
}

interface Held {
  readonly id: string
  readonly rootID: SessionID
  readonly item: unknown
}

const decode = Schema.decodeUnknownOption(PendingAsk)

const rootOf = (sessionID: SessionID) =>
  findSession(sessionID).pipe(
    Effect.map(({ rootID }) => Option.some(rootID)),
    Effect.catchTag("SessionNotFound", () => Effect.succeedNone)
  )

/** The questions of one runner whose trees it holds. */
const heldBy = Effect.fnUntraced(function*(cluster: Pick<typeof Cluster.Service, "holder">, { items, target }: Listed) {
  const holders = new Map<SessionID, string | undefined>()
  const held: Array<Held> = []
  for (const item of items) {
    const ask = Option.getOrUndefined(decode(item))
    const rootID = ask === undefined ? undefined : Option.getOrUndefined(yield* rootOf(ask.sessionID))
    if (ask === undefined || rootID === undefined || ask.rootID !== rootID) continue
    if (!holders.has(rootID)) holders.set(rootID, yield* cluster.holder(rootID))
    if (holders.get(rootID) === target) held.push({ id: ask.id, rootID, item })
  }
  return held
})

const idOf = (item: unknown): string | undefined =>
  typeof item === "object" && item !== null && "id" in item && typeof item.id === "string" ? item.id : undefined

/** The questions of this runner, and those of all others that belong to them. */
export const heldAsks = (
  cluster: Pick<typeof Cluster.Service, "holder">,
  own: ReadonlyArray<unknown>,
  others: ReadonlyArray<Listed>
): Effect.Effect<ReadonlyArray<unknown>, StorageError, SessionStorage> =>
  Effect.gen(function*() {
    const found = (yield* Effect.forEach(others, (listed) => heldBy(cluster, listed))).flat()
    const isDoubled = (id: string) => found.filter((each) => each.id === id).length > 1
    const seen = new Set(own.map(idOf))
    const items = [...own]
    for (const { id, item, rootID } of found) {
      if (seen.has(id)) continue
      // Two list it. The journal knows in which tree it was asked.
      if (isDoubled(id) && !(yield* isAskedIn(rootID, id))) continue
      seen.add(id)
      items.push(item)
    }
    return items
  })
