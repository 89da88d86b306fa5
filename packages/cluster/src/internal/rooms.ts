/** Finds a runner that may take up a tree and has room for it: each of them is asked, and answers for itself. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { Cluster } from "../Cluster.ts"
import { pick } from "./pick.ts"

/** A runner, and how many more agents can work there. */
interface Room {
  readonly url: string
  readonly room: number
}

/** The other runners that may take up a tree, and how many more agents can work there. */
export const roomsFor = (cluster: typeof Cluster.Service, rootID: SessionID): Effect.Effect<ReadonlyArray<Room>> =>
  Effect.flatMap(cluster.others, (others) =>
    Effect.map(
      Effect.forEach(
        others,
        ({ url }) => Effect.map(cluster.peers.room(url, rootID), (room) => ({ url, room })),
        { concurrency: "unbounded" }
      ),
      (rooms) => rooms.flatMap(({ room, url }) => room === undefined ? [] : [{ url, room }])
    ))

/** The address of one of them: those with much room are chosen more often, so that not all prompts go to one. */
export const chooseRoom = (rooms: ReadonlyArray<Room>): Effect.Effect<string | undefined> =>
  Effect.map(Random.next, (chance) => pick(rooms, chance))
