/** What runners ask each other, beside the requests of clients that they send on. */
import type { SessionID } from "@skein/domain/Id"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { IncomingMessage } from "node:http"
import { exchange } from "./exchange.ts"
import { signed } from "./signature.ts"

/** What a runner says about a tree in which nobody works: whether it may take it up, and how many more agents can work there. */
const Room = Schema.Struct({ may: Schema.Boolean, room: Schema.Number })

const decode = Schema.decodeUnknownOption(Schema.parseJson(Room))

/** How long a runner may take to answer. One that is frozen must not delay a prompt for long. */
const patience = "1 second"

/** How long it may take to make the agents of a tree work. */
const takingPatience = "10 seconds"

const path = /^\/v1\/cluster\/(room|offer|take)\/(ses_[^/?]+)(?:\/(\d{1,9}))?$/

/** What another runner asks: how much room there is for a tree, to keep so much for it, or to take it up. */
export type Asked =
  | { readonly _tag: "Room"; readonly rootID: SessionID }
  | { readonly _tag: "Offer"; readonly rootID: SessionID; readonly slots: number }
  | { readonly _tag: "Take"; readonly rootID: SessionID }

/** What it asks with a request; undefined if the request is one of a client. */
export const askedBy = ({ method, url = "" }: IncomingMessage): Asked | undefined => {
  const [, what, id, slots = "0"] = path.exec(url) ?? []
  if (id === undefined) return undefined
  const rootID = id as SessionID
  if (method === "GET") return what === "room" ? { _tag: "Room", rootID } : undefined
  if (method !== "POST" || what === "room") return undefined
  return what === "take" ? { _tag: "Take", rootID } : { _tag: "Offer", rootID, slots: Number(slots) }
}

/** Makes the functions that ask the runner at an address. */
export const makePeers = ({ secret, time }: { readonly secret: Redacted.Redacted; readonly time: () => number }) => {
  const ask = (url: string, method: string, to: string, within: Duration.DurationInput) => {
    const sent = { method, path: `/v1/cluster/${to}`, headers: {}, body: Buffer.alloc(0) }
    return exchange(url, sent, signed(secret, url, time(), sent)).pipe(
      Effect.timeoutOption(within),
      Effect.map((answered) => {
        const answer = Option.getOrUndefined(answered)
        return answer?.status === 200 ? answer.body.toString("utf8") : undefined
      })
    )
  }

  return {
    /** How many more agents can work there; undefined if it may not take up the tree, or does not answer. */
    room: (url: string, rootID: SessionID): Effect.Effect<number | undefined> =>
      Effect.map(ask(url, "GET", `room/${rootID}`, patience), (body) =>
        Option.match(decode(body), {
          onNone: () => undefined,
          onSome: ({ may, room }) => may ? room : undefined
        })),
    /** Has it keep so many slots for a tree that may come; whether it does. */
    offer: (url: string, rootID: SessionID, slots: number): Effect.Effect<boolean> =>
      Effect.map(ask(url, "POST", `offer/${rootID}/${slots}`, patience), (body) => body !== undefined),
    /** Has it take up a tree that it has kept slots for. Ends when the tree works there, or does not. */
    take: (url: string, rootID: SessionID): Effect.Effect<boolean> =>
      Effect.map(ask(url, "POST", `take/${rootID}`, takingPatience), (body) => body !== undefined)
  }
}

/** What asks other runners. */
export type Peers = ReturnType<typeof makePeers>
