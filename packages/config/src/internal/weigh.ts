/** Judges what a project's files say: what counts by itself, what the user trusts, and what waits for trust. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ConfigIssue } from "../ConfigError.ts"
import type { TrustItem } from "../TrustItem.ts"
import { admit, type Widening } from "./projectTrust.ts"
import type { SourcedRecord } from "./sourced.ts"
import { digestOf, type ProjectPlace } from "./trustDigest.ts"
import { readTrusted, trustFile } from "./trustFile.ts"

const nameOf = ({ origin, path, written }: Widening): string => JSON.stringify([origin.name, path, written])

const adviceOf = ({ id, state }: TrustItem): string => {
  switch (state) {
    case "fixed":
      return ""
    case "changed":
      return `; it has changed since you trusted it: \`skein trust allow ${id}\` trusts it as it is now`
    default:
      return `; if you want it, run \`skein trust allow ${id}\`, or put it into your own config`
  }
}

/** Reports that a value is ignored. */
const issueOf = (item: TrustItem, why: string): ConfigIssue => ({
  file: item.file,
  ...(item.line === undefined ? {} : { line: item.line }),
  key: item.key,
  message: `${item.key} is ignored: ${why}${adviceOf(item)}`,
  kind: "trust"
})

/** What the user grants a project's files, by their own config. */
export interface Grants {
  readonly user: SourcedRecord
  /** The providers that answer where the user's config names no model. */
  readonly vendors: Effect.Effect<ReadonlyArray<string>>
}

/** The part of a project's config that counts, and what needs trust, trusted or not. */
export interface Judged {
  readonly tree: SourcedRecord
  readonly items: ReadonlyArray<TrustItem>
  readonly warnings: ReadonlyArray<ConfigIssue>
}

/** Judges it; `data` is the directory in which trust is kept. */
export const judge = Effect.fnUntraced(function*(options: {
  readonly grants: Grants
  readonly project: SourcedRecord
  readonly place: ProjectPlace
  readonly data: string
}) {
  const { data, project } = options
  const bounds = { user: options.grants.user, vendors: yield* options.grants.vendors }
  const { tree: confined, widenings } = admit(bounds, project)
  if (widenings.length === 0) return { tree: confined, items: [], warnings: [] } satisfies Judged
  const fs = yield* FileSystem.FileSystem
  const { directory } = options.place
  const place = { ...options.place, directory: yield* Effect.orElseSucceed(fs.realPath(directory), () => directory) }
  const read = yield* Effect.either(readTrusted(data))
  const trusted = Either.getOrElse(read, () => [])
  const known = new Map<string, TrustItem>()
  const items: Array<readonly [TrustItem, Widening]> = []
  for (const widening of widenings) {
    const { isTrustable, origin, path, written } = widening
    const digest = yield* digestOf(widening, place)
    const key = path.join(".")
    const same = trusted.find((each) => each.digest === digest)
    const item: TrustItem = {
      id: digest.slice(0, 12),
      digest,
      key,
      value: written,
      file: origin.name,
      ...(origin.line === undefined ? {} : { line: origin.line }),
      state: !isTrustable
        ? "fixed"
        : same !== undefined
        ? "trusted"
        : trusted.some((each) => each.file === origin.name && each.key === key)
        ? "changed"
        : "untrusted",
      ...(same === undefined ? {} : { since: same.since })
    }
    known.set(nameOf(widening), item)
    items.push([item, widening])
  }
  const { tree } = admit(bounds, project, (widening) => known.get(nameOf(widening))?.state === "trusted")
  const broken: ReadonlyArray<ConfigIssue> = Either.isLeft(read)
    ? [{ file: trustFile(data), message: read.left.message }]
    : []
  return {
    tree,
    items: items.map(([item]) => item),
    warnings: [
      ...broken,
      ...items.flatMap(([item, { why }]) => item.state === "trusted" ? [] : [issueOf(item, why)])
    ]
  } satisfies Judged
})
