/** Asks a server which servers its cluster has, for clients that cannot reach its database. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type { Cluster } from "@skein/api/Output"
import * as SkeinClient from "@skein/client/SkeinClient"
import { unexpectedText } from "@skein/client/Unexpected"
import * as Effect from "effect/Effect"
import { UsageError } from "../../UsageError.ts"
import type { Found } from "./findServer.ts"

/** The servers of its cluster, their trees and takeovers, as it sees them. */
export const askCluster = ({ server: { token, url } }: Found): Effect.Effect<Cluster, UsageError> =>
  Effect.flatMap(SkeinClient.make({ token, url }), ({ server }) => server.cluster()).pipe(
    Effect.mapError((error) => new UsageError({ message: `The server at ${url}: ${unexpectedText(error)}` })),
    Effect.provide(FetchHttpClient.layer)
  )
