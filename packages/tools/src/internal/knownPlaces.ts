/**
 * Owns the register in which all programs of Skein of a user write down where they keep their files, so that each of
 * them keeps those of all others from models.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import { dirname, join } from "node:path"
import { attempt } from "./processes.ts"

const KnownPlace = Schema.Struct({
  /** The data directory, absolute. */
  dataDirectory: Schema.String,
  /** More files and directories that no call may see, absolute. */
  secret: Schema.Array(Schema.String)
})

/** Where one program of Skein keeps its files. */
export type KnownPlace = typeof KnownPlace.Type

/**
 * Where all programs of a user keep the records of their sandboxes' placeholders: they may have data directories of their own
 * and work in one project.
 */
export const recordsBeside = (register: string): string => join(dirname(register), "placeholders")

const decode = Schema.decodeUnknownOption(Schema.parseJson(KnownPlace))

/** More entries than this are not read. */
const most = 500

const isUsable = (path: string): boolean => path.startsWith("/") && path !== "/"

const entryIn = (register: string, name: string): KnownPlace | undefined => {
  const text = attempt(() => NodeFs.readFileSync(join(register, name), "utf8"), "")
  const found = decode(text)
  if (found._tag === "None" || !isUsable(found.value.dataDirectory)) return undefined
  return { ...found.value, secret: found.value.secret.filter(isUsable) }
}

const namesIn = (register: string): ReadonlyArray<string> =>
  attempt(() => NodeFs.readdirSync(register), []).filter((name) => /^[\da-f]{16}\.json$/.test(name)).slice(0, most)

/** Reads the register. It is read again when an entry was added or removed; until then the answer is the same array. */
export const makeKnownPlaces = (register: string | undefined): () => ReadonlyArray<KnownPlace> => {
  const none: ReadonlyArray<KnownPlace> = []
  if (register === undefined) return () => none
  let changed: bigint | undefined
  let known: ReadonlyArray<KnownPlace> = []
  return () => {
    const now = attempt(() => NodeFs.statSync(register, { bigint: true, throwIfNoEntry: false })?.ctimeNs, undefined)
    if (now === undefined) return none
    if (now !== changed) {
      known = namesIn(register).flatMap((name) => entryIn(register, name) ?? [])
      changed = now
    }
    return known
  }
}

const isThere = (path: string): boolean => NodeFs.existsSync(path)

const enter = (register: string, place: KnownPlace): void => {
  const text = `${JSON.stringify(place)}\n`
  const name = `${createHash("sha256").update(text).digest("hex").slice(0, 16)}.json`
  NodeFs.mkdirSync(register, { recursive: true, mode: 0o700 })
  for (const each of namesIn(register)) {
    const found = entryIn(register, each)
    const isGone = found === undefined || ![found.dataDirectory, ...found.secret].some(isThere)
    if (isGone && each !== name) NodeFs.rmSync(join(register, each), { force: true })
  }
  const file = join(register, name)
  if (isThere(file)) return
  NodeFs.writeFileSync(`${file}.${process.pid}`, text, { mode: 0o600 })
  NodeFs.renameSync(`${file}.${process.pid}`, file)
}

/** Enters a program of Skein, and removes entries whose files are gone. A program runs without its entry, too. */
export const enterPlace = (register: string, place: KnownPlace): Effect.Effect<void> =>
  Effect.catchAll(
    Effect.try(() => enter(register, place)),
    ({ error }) =>
      Effect.logDebug(
        `Other programs of Skein will not know where this one keeps its files: ${register} cannot be written`,
        error
      )
  )
