/** Owns Skein as an MCP service: its clients delegate tasks to agents, watch them, answer what they ask, and stop them. */
import type { ManyServices } from "@skein/core/Skein"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Scope from "effect/Scope"
import { makeOwner } from "./internal/serving/Owner.ts"
import { makeResources } from "./internal/serving/resources.ts"
import { makeServer } from "./internal/serving/server.ts"
import type { McpService } from "./McpService.ts"
import type { ServingHost } from "./ServingHost.ts"

/** Makes the service over the services of this process. What a connection has delegated ends with it. */
export const make = (host: ServingHost): Effect.Effect<McpService, never, ManyServices> =>
  Effect.map(Effect.context<ManyServices>(), (around) => {
    // Each connection has its own scope.
    const services = Context.omit(Scope.Scope)(around) as Context.Context<ManyServices>
    return {
      open: (connection) =>
        Effect.gen(function*() {
          const owner = yield* makeOwner(host, connection)
          const run = yield* FiberSet.makeRuntimePromise<ManyServices>()
          const resources = yield* makeResources(host, owner)
          return { makeServer: () => makeServer(host, owner, resources, run), resourcesChanged: resources.changed }
        }).pipe(Effect.provide(services))
    }
  })
