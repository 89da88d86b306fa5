/** Decides which hosts a tool may talk to: public ones only. */
import type { ToolError } from "@skein/core/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { refuse } from "./internal/refusal.ts"
import { secretsOf } from "./internal/shell/shellEnvironment.ts"
import { isPublicAddress } from "./internal/web/publicAddress.ts"

/** An IP address. */
export interface Address {
  readonly address: string
  readonly family: 4 | 6
}

const decoded = (text: string): string =>
  text.replace(/(?:%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8"))

/** Resolves names, and decides which URLs may be requested. */
export class Network extends Context.Tag("@skein/tools/Network")<Network, {
  /** All addresses of a host name. An address resolves to itself. */
  readonly resolve: (host: string) => Effect.Effect<ReadonlyArray<Address>, ToolError>
  /** Whether an address is public: not this machine, a private network or a cloud's metadata service. */
  readonly isPublic: (address: string) => boolean
  /** Whether a URL contains a secret of this process. No host may get it unless a person agrees. */
  readonly tellsSecret: (url: URL) => boolean
}>() {
  /** The resolver of the system. Secrets are the values of variables whose names mark them as secret. */
  static readonly layer = (options: {
    readonly environment: Readonly<Record<string, string | undefined>>
  }): Layer.Layer<Network> =>
    Layer.succeed(Network, {
      resolve: (host) =>
        Effect.tryPromise(() =>
          import("node:dns/promises").then(({ lookup }) => lookup(host, { all: true, verbatim: true }))
        ).pipe(
          Effect.map((found) =>
            found.map(({ address, family }): Address => ({ address, family: family === 6 ? 6 : 4 }))
          ),
          Effect.catchAll(() => refuse("not_found", `The host ${host} was not found. Check its name, or the network.`))
        ),
      isPublic: isPublicAddress,
      tellsSecret: ({ href }) => {
        const plain = decoded(href)
        return secretsOf(options.environment).some((secret) => href.includes(secret) || plain.includes(secret))
      }
    })
}
