/** Decides which hosts a tool may talk to: public ones only. */
import type { ToolError } from "@skein/core/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { secretsOf } from "./Environment.ts"
import { refuse } from "./internal/refusal.ts"

type Block = readonly [address: ReadonlyArray<number>, bits: number]

/**
 * IPv4 addresses that are private, local, shared, for documentation, or for several receivers (RFC 6890 and its
 * additions).
 */
const closed4: ReadonlyArray<Block> = [
  [[0], 8],
  [[10], 8],
  [[100, 64], 10],
  [[127], 8],
  [[169, 254], 16],
  [[172, 16], 12],
  [[192, 0, 0], 24],
  [[192, 0, 2], 24],
  [[192, 88, 99], 24],
  [[192, 168], 16],
  [[198, 18], 15],
  [[198, 51, 100], 24],
  [[203, 0, 113], 24],
  [[224], 4],
  [[240], 4]
]

/** The IPv6 addresses among the routed ones (2000::/3) that are not public. */
const closed6: ReadonlyArray<Block> = [
  [[0x20, 0x01, 0x00], 23],
  [[0x20, 0x01, 0x0d, 0xb8], 32],
  [[0x20, 0x02], 16],
  [[0x3f, 0xff, 0x00], 20]
]

/** Addresses that contain an IPv4 address in their last bytes: mapped ones, and those of NAT64. */
const holding4: ReadonlyArray<Block> = [
  [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff], 96],
  [[0, 0x64, 0xff, 0x9b], 96]
]

const isIn = (bytes: ReadonlyArray<number>, [address, bits]: Block): boolean => {
  for (let bit = 0; bit < bits; bit += 8) {
    const mask = bits - bit >= 8 ? 0xff : (0xff << (8 - (bits - bit))) & 0xff
    const at = bit / 8
    if (((bytes[at] as number) & mask) !== ((address[at] ?? 0) & mask)) return false
  }
  return true
}

const bytes4 = (text: string): ReadonlyArray<number> => text.split(".").map(Number)

const bytes6 = (text: string): ReadonlyArray<number> => {
  const plain = text.replace(/%.*$/, "")
  const embedded = /[\d.]+$/.exec(plain)?.[0] ?? ""
  const tail = embedded.includes(".") ? bytes4(embedded) : []
  const groups = tail.length === 0 ? plain : plain.slice(0, -embedded.length)
  const bytesOf = (part: string) =>
    part.split(":").filter(Boolean).flatMap((
      group
    ) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff])
  const [before = "", after] = groups.split("::")
  const left = bytesOf(before)
  const right = [...bytesOf(after ?? ""), ...tail]
  return after === undefined
    ? [...left, ...right]
    : [...left, ...Array.from({ length: 16 - left.length - right.length }, () => 0), ...right]
}

const isIPv4 = (text: string): boolean =>
  /^\d{1,3}(\.\d{1,3}){3}$/.test(text) && bytes4(text).every((byte) => byte < 256)

const isIPv6 = (text: string): boolean => text.includes(":") && URL.canParse(`http://[${text.replace(/%.*$/, "")}]/`)

const isPublic4 = (bytes: ReadonlyArray<number>): boolean => !closed4.some((block) => isIn(bytes, block))

/** Whether an IP address is public. Text that is not an address is not. */
export const isPublicAddress = (address: string): boolean => {
  if (isIPv4(address)) return isPublic4(bytes4(address))
  if (!isIPv6(address)) return false
  const bytes = bytes6(address)
  if (holding4.some((block) => isIn(bytes, block))) return isPublic4(bytes.slice(12))
  return isIn(bytes, [[0x20], 3]) && !closed6.some((block) => isIn(bytes, block))
}

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
