/**
 * Owns the placement of trees: Effect Cluster spreads shards over the runners that are healthy, and the id of a root decides
 * on its shard. It holds no state of a tree and no messages: leases decide who works, and the inbox keeps what is unread.
 */
import { EntityId } from "@effect/cluster/EntityId"
import * as MessageStorage from "@effect/cluster/MessageStorage"
import * as RunnerAddress from "@effect/cluster/RunnerAddress"
import * as RunnerHealth from "@effect/cluster/RunnerHealth"
import * as Runners from "@effect/cluster/Runners"
import * as Sharding from "@effect/cluster/Sharding"
import * as ShardingConfig from "@effect/cluster/ShardingConfig"
import * as SqlRunnerStorage from "@effect/cluster/SqlRunnerStorage"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type ClusterUnavailable, unavailable } from "../ClusterUnavailable.ts"

/** How long a runner may take to say that it lives. One that is frozen takes connections and never answers. */
const patience = "800 millis"

/** Asks the API of a runner, which is what its trees need. */
const health = Layer.effect(
  RunnerHealth.RunnerHealth,
  Effect.map(HttpClient.HttpClient, (client) => ({
    isAlive: ({ host, port }: RunnerAddress.RunnerAddress) =>
      client.get(`http://${host}:${port}/healthz`).pipe(
        Effect.flatMap((response) => response.text),
        Effect.timeout(patience),
        Effect.retry({ times: 1 }),
        Effect.scoped,
        Effect.isSuccess
      )
  }))
).pipe(Layer.provide(FetchHttpClient.layer))

const group = "default"

/** The engine, for the runner at this address. */
export const engine = (
  { url }: { readonly url: string }
): Layer.Layer<Sharding.Sharding, ClusterUnavailable, SqlClient> => {
  const { hostname, port } = new URL(url)
  const config = ShardingConfig.layer({
    runnerAddress: Option.some(RunnerAddress.make(hostname, Number(port))),
    // A shard is only where a tree is taken up first: few are enough, and each of them costs a lock.
    shardsPerGroup: 64,
    shardLockRefreshInterval: "3 seconds",
    shardLockExpiration: "10 seconds",
    refreshAssignmentsInterval: "1 second",
    runnerHealthCheckInterval: "1 second",
    entityTerminationTimeout: "1 second"
  })
  return Sharding.layer.pipe(
    Layer.provide([
      health,
      Runners.layerNoop,
      Layer.mapError(
        SqlRunnerStorage.layerWith({ prefix: "cluster" }),
        unavailable("The tables of the cluster cannot be created")
      )
    ]),
    Layer.provide([config, MessageStorage.layerNoop]),
    // Its lines are in the log only with `--verbose`.
    Layer.locallyWith(FiberRef.currentLogAnnotations, HashMap.set<string, unknown>("engine", true))
  )
}

/** Whether the engine assigns a tree to this runner now. */
export const placement: Effect.Effect<(rootID: SessionID) => boolean, never, Sharding.Sharding> = Effect.map(
  Sharding.Sharding,
  (sharding) => (rootID: SessionID) => sharding.hasShardId(sharding.getShardId(EntityId.make(rootID), group))
)
