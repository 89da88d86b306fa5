/** Decides which values of a project's files count: what the user trusted, by the digest of the value and of what it names. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { dirname, isAbsolute, join, relative, resolve } from "node:path"
import type { ConfigIssue } from "../ConfigError.ts"
import { TrustError, type TrustItem } from "../TrustItem.ts"
import { admit, holdsCommands, isServer, type Widening } from "./projectTrust.ts"
import { reason } from "./readText.ts"
import { aboutDirectory, type SourcedRecord } from "./sourced.ts"

/** A trusted value. */
const Trusted = Schema.Struct({
  /** The hash of the value in its place. */
  digest: Schema.String,
  file: Schema.String,
  key: Schema.String,
  value: Schema.Unknown,
  /** When it was trusted, in milliseconds since 1970. */
  since: Schema.Number
})
/** The type of a trusted value. */
export interface Trusted extends Schema.Schema.Type<typeof Trusted> {}

/** What the file holds. `noticed`: what the user did with values that are not trusted, by their hashes. */
const TrustContent = Schema.Struct({
  version: Schema.Literal(1),
  trusted: Schema.Array(Trusted),
  noticed: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.Literal("told", "declined") }), {
    default: (): Readonly<Record<string, "told" | "declined">> => ({})
  })
})
/** The type of its content. */
export type TrustContent = Omit<typeof TrustContent.Type, "version">

const TrustFile = Schema.parseJson(TrustContent)

/** The path of the file. */
const trustFile = (data: string): string => join(data, "trust.json")

const unusable = (path: string, why: string) =>
  new TrustError({
    message:
      `The trust file ${path} cannot be read, so nothing is trusted: ${why}. Fix the file, or remove it and trust again.`
  })

const none: TrustContent = { trusted: [], noticed: {} }

/** All trusted values of all projects, and which others the user saw. */
export const readTrusted = Effect.fnUntraced(function*(data: string) {
  const fs = yield* FileSystem.FileSystem
  const path = trustFile(data)
  const text = yield* fs.readFileString(path).pipe(
    Effect.catchAll((error) =>
      error._tag === "SystemError" && error.reason === "NotFound"
        ? Effect.succeed(undefined)
        : Effect.fail(unusable(path, reason(error)))
    )
  )
  if (text === undefined) return none
  return yield* Effect.mapError(
    Schema.decode(TrustFile)(text),
    () => unusable(path, "it does not hold what Skein wrote")
  )
})

/** Replaces the content atomically. */
export const writeTrusted = Effect.fnUntraced(function*(data: string, content: TrustContent) {
  const fs = yield* FileSystem.FileSystem
  const path = trustFile(data)
  const text = JSON.stringify({ version: 1, ...content } satisfies typeof TrustFile.Type, undefined, 2)
  const temporary = `${path}.${(yield* Random.nextIntBetween(0, 2 ** 48)).toString(36)}.tmp`
  yield* fs.makeDirectory(dirname(path), { recursive: true, mode: 0o700 }).pipe(
    Effect.zipRight(fs.writeFileString(temporary, `${text}\n`, { flag: "wx", mode: 0o600 })),
    Effect.zipRight(fs.rename(temporary, path)),
    Effect.mapError((error) =>
      new TrustError({ message: `${path} could not be written: ${reason(error)}. Nothing was changed.` })
    )
  )
})

/** The place of a project: its git root, if it has one, and the working directory. */
interface ProjectPlace {
  readonly root: string | undefined
  readonly directory: string
}

const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex")

const isBelow = (path: string, directory: string): boolean => {
  const way = relative(directory, path)
  return way !== "" && way !== ".." && !way.startsWith("../") && !isAbsolute(way)
}

const textsIn = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
    ? Object.values(value).flatMap(textsIn)
    : []

/** Files that a command line only writes, such as a log, which changes with every run. */
const outputs = />>?\s*[^\s;|&<>()]+/g

/** The project's directory in hooks of Claude Code; a path in the project follows it. */
const projectVariable = /"?\$(?:CLAUDE_PROJECT_DIR\b|\{CLAUDE_PROJECT_DIR\})"?\/?/g

/** Possible file names in a command line, with any quoting. */
const wordsOf = (line: string): ReadonlyArray<string> =>
  [line, ...line.replaceAll(outputs, " ").replaceAll(projectVariable, "").split(/[\s"'`;|&<>()=$]+/)].filter((word) =>
    word !== ""
  )

const isScript = /\.(?:[cm]?[jt]sx?|py|sh|bash|rb|pl|php|lua|jar|ps1)$/i

/** The project files that hooks and servers name, with their content: trusting a command means trusting what it runs. */
const filesOf = Effect.fnUntraced(function*(widening: Widening, { directory, root }: ProjectPlace) {
  const { origin, value } = widening
  const fs = yield* FileSystem.FileSystem
  const folder = dirname(origin.name)
  const bounds = root ?? folder
  const bases = [...new Set([folder, aboutDirectory(origin.name), bounds, directory])]
  const paths = new Set(
    textsIn(value).flatMap(wordsOf).flatMap((word) => bases.map((base) => resolve(join(base, "."), word)))
      .filter((path) => isBelow(path, bounds))
  )
  const found = yield* Effect.forEach([...paths].toSorted(), (path) =>
    fs.stat(path).pipe(
      // The data of a server may change; its program must not.
      Effect.filterOrFail(({ mode, type }) =>
        type === "File" && (!isServer(widening.path) || (mode & 0o111) !== 0 || isScript.test(path))
      ),
      Effect.zipRight(fs.readFile(path)),
      Effect.map((bytes) => [[relative(bounds, path), sha256(bytes)] as const]),
      // An unreadable file cannot run either; if it becomes readable, that is a change.
      Effect.orElseSucceed(() => [])
    ))
  return found.flat()
})

/** The hash of a value in its place, by which it is trusted. */
export const digestOf = (widening: Widening, place: ProjectPlace) =>
  Effect.map(
    holdsCommands(widening.path[0]) || isServer(widening.path) ? filesOf(widening, place) : Effect.succeed([]),
    (files) => sha256(JSON.stringify([widening.origin.name, widening.path, widening.written, files]))
  )

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
  /** What `~/` means in it. */
  readonly home?: string
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
  const { noticed, trusted }: TrustContent = Either.getOrElse(read, () => none)
  const known = new Map<string, TrustItem>()
  const items: Array<readonly [TrustItem, Widening]> = []
  for (const widening of widenings) {
    const { isTrustable, origin, path, written } = widening
    const digest = yield* digestOf(widening, place)
    const key = path.join(".")
    const same = trusted.find((each) => each.digest === digest)
    const seen = same === undefined ? noticed[digest] : undefined
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
      ...(same === undefined ? {} : { since: same.since }),
      ...(seen === undefined ? {} : { noticed: seen })
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
