/** Owns the file of trusted values in the user's data directory. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import { dirname, join } from "node:path"
import { TrustError } from "../TrustError.ts"
import { reason } from "./readText.ts"

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

const TrustFile = Schema.parseJson(Schema.Struct({ version: Schema.Literal(1), trusted: Schema.Array(Trusted) }))

/** The path of the file. */
export const trustFile = (data: string): string => join(data, "trust.json")

const unusable = (path: string, why: string) =>
  new TrustError({
    message:
      `The trust file ${path} cannot be read, so nothing is trusted: ${why}. Fix the file, or remove it and trust again.`
  })

/** All trusted values, of all projects. */
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
  if (text === undefined) return []
  const { trusted } = yield* Effect.mapError(
    Schema.decode(TrustFile)(text),
    () => unusable(path, "it does not hold what Skein wrote")
  )
  return trusted
})

/** Replaces all trusted values atomically. */
export const writeTrusted = Effect.fnUntraced(function*(data: string, trusted: ReadonlyArray<Trusted>) {
  const fs = yield* FileSystem.FileSystem
  const path = trustFile(data)
  const text = JSON.stringify({ version: 1, trusted } satisfies typeof TrustFile.Type, undefined, 2)
  const temporary = `${path}.${(yield* Random.nextIntBetween(0, 2 ** 48)).toString(36)}.tmp`
  yield* fs.makeDirectory(dirname(path), { recursive: true, mode: 0o700 }).pipe(
    Effect.zipRight(fs.writeFileString(temporary, `${text}\n`, { flag: "wx", mode: 0o600 })),
    Effect.zipRight(fs.rename(temporary, path)),
    Effect.mapError((error) =>
      new TrustError({ message: `${path} could not be written: ${reason(error)}. Nothing was changed.` })
    )
  )
})
