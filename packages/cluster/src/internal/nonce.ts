/**
 * Owns the file by which a host proves that it sees the directory of another one. A nonce is in it, and the database has its
 * hash. The hash also covers the number of the file, so a copy of the directory proves nothing. A file with more than one name
 * is none: the other name may be in another directory.
 */
import * as Effect from "effect/Effect"
import { createHash, randomBytes } from "node:crypto"
import { constants } from "node:fs"
import { lstat, mkdir, open, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"

/** How long its text is: 32 bytes in hexadecimal. */
const length = 64

/** Where it is without a repository. */
const folder = ".skein-host"

const attempt = <A>(act: () => Promise<A>) => Effect.option(Effect.tryPromise(act))

/** The type of what a path names, and not of what it links to. */
const kindOf = (path: string) =>
  Effect.map(
    attempt(() => lstat(path)),
    (found) => found._tag === "None" ? "nothing" : found.value.isDirectory() ? "directory" : "other"
  )

/**
 * The path of the file for a directory: in `.git` of its repository, where git does not list it, or else in a folder that git
 * ignores. Undefined in a linked worktree or a submodule, whose `.git` is a file that the project itself could have written.
 */
export const nonceFile = (directory: string): Effect.Effect<string | undefined> => {
  const above = (at: string): Effect.Effect<string | undefined> =>
    Effect.flatMap(kindOf(join(at, ".git")), (kind) => {
      if (kind === "directory") return Effect.succeed(join(at, ".git", "skein-host"))
      if (kind === "other") return Effect.succeed(undefined)
      return dirname(at) === at ? Effect.succeed(join(directory, folder, "nonce")) : above(dirname(at))
    })
  return above(directory)
}

const readNonce = async (path: string): Promise<string> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  const found = await file.stat({ bigint: true })
  const buffer = Buffer.alloc(length)
  const { bytesRead } = await file.read(buffer, 0, length, 0)
    .finally(() => file.close())
  if (!found.isFile() || found.nlink > 1n || found.size !== BigInt(length) || bytesRead !== length) {
    throw new Error("It is no nonce")
  }
  return createHash("sha256").update(`${found.ino} `).update(buffer).digest("hex")
}

/** The hash of what is in the file now; undefined if there is none. */
export const nonceHash = (path: string): Effect.Effect<string | undefined> =>
  Effect.map(attempt(() => readNonce(path)), (read) => read._tag === "None" ? undefined : read.value)

const put = async (path: string, text: string): Promise<void> => {
  const draft = `${path}.${randomBytes(6).toString("hex")}`
  const file = await open(draft, "wx", 0o600)
  await file.writeFile(text).finally(() => file.close())
  // A link at the path is replaced, and not followed.
  await rename(draft, path).catch((cause: unknown) =>
    rm(draft, { force: true }).then(() => {
      throw cause
    })
  )
}

/** Writes a new one, and gives its hash; undefined if that is not possible, in a directory without write access for example. */
export const writeNonce = (path: string): Effect.Effect<string | undefined> =>
  Effect.gen(function*() {
    const place = dirname(path)
    if (place.endsWith(folder)) {
      yield* attempt(() => mkdir(place, { mode: 0o700 }))
      if ((yield* kindOf(place)) !== "directory") return undefined
      yield* attempt(() => put(join(place, ".gitignore"), "*\n"))
    }
    yield* attempt(() => put(path, randomBytes(length / 2).toString("hex")))
    return yield* nonceHash(path)
  })
