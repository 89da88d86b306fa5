/** Decides which hosts of the network a tool may talk to: those that are open to everybody, and no others. */
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

/** Where names lead, and where one may go. */
export class Network extends Context.Tag("@skein/tools/Network")<Network, {
  /** All addresses of a host name; an address is its own. */
  readonly resolve: (host: string) => Effect.Effect<ReadonlyArray<Address>, ToolError>
  /** Whether an address is open to everybody: not this machine, not a private network, not a cloud's metadata. */
  readonly isPublic: (address: string) => boolean
  /** Whether a URL holds a secret of this process, which no host is to be told unless a person wants that. */
  readonly tellsSecret: (url: URL) => boolean
}>() {
  /** The resolver of the system; secrets are the values of variables whose names say so. */
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
