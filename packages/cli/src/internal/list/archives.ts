/** What `skein sessions export` and `skein sessions import` do. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import { Bus } from "@skein/core/Bus"
import { Journal } from "@skein/core/Journal"
import { exportTree, importTree } from "@skein/core/SessionArchive"
import { Ids } from "@skein/domain/Id"
import { chunksOf } from "@skein/server/ArchiveFile"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { resolve } from "node:path"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio, type Streams } from "../../Stdio.ts"
import { UsageError } from "../../UsageError.ts"
import { errorLine } from "../explain.ts"
import { fileReason, newFile } from "../fileReason.ts"
import { sessionOf } from "../ids.ts"
import { checkDirectory, currentDirectory, directoryOf, projectOf } from "../place.ts"
import { database, readableDatabase, warnUnreadable } from "./sessions.ts"

const numberOf = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`

const unwritable = (path: string) => (error: PlatformError) =>
  new UsageError({
    message: error._tag === "SystemError" && error.reason === "AlreadyExists"
      ? `--output: ${path} already exists. Name another file, or remove that one first.`
      : `--output: ${path} cannot be written (${fileReason(error)}).`
  })

const toOutput = (stdio: Streams) => (piece: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    stdio.out(piece)
    return stdio.flush
  })

/** Exports a tree. */
export const exportSession = ({ flags, operands: [id = ""] }: {
  readonly flags: { readonly output: string | undefined; readonly db: string | undefined }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const path = flags.output === undefined ? undefined : resolve(yield* currentDirectory, flags.output)
    const session = yield* sessionOf(id)
    const done = yield* path === undefined
      ? exportTree(session.id, toOutput(stdio))
      : newFile(path, unwritable(path), (write) => exportTree(session.id, (piece) => write(encoder.encode(piece))))
    if (path !== undefined) {
      const what = `${numberOf(done.sessions, "session")} with ${numberOf(done.messages, "message")}`
      stdio.err(escapeLine(`${path}: ${what}, from the root ${done.root}.`))
    }
    if (done.unreadable.length === 0) return ExitCode.done
    yield* warnUnreadable(done.unreadable)
    stdio.err(
      errorLine(`The archive lacks ${numberOf(done.unreadable.length, "row")}, for what cannot be read is left out.`)
    )
    return ExitCode.failed
  }).pipe(Effect.provide(readableDatabase(flags.db)))

const encoder = new TextEncoder()

/** Standard input, kept in a file: it is read twice. */
const readInput = Effect.fnUntraced(function*(stdio: Streams) {
  const fs = yield* FileSystem.FileSystem
  const failed = (cause: unknown) => new UsageError({ message: `Standard input cannot be read (${String(cause)}).` })
  const file = yield* Effect.mapError(fs.makeTempFileScoped({ prefix: "skein-import-" }), failed)
  yield* Effect.mapError(
    Stream.run(Stream.fromAsyncIterable<Uint8Array, unknown>(stdio.input(), failed), fs.sink(file)),
    failed
  )
  return Stream.mapError(chunksOf(file), failed)
})

const readFile = Effect.fnUntraced(function*(given: string) {
  const path = resolve(yield* currentDirectory, given)
  return Stream.mapError(
    chunksOf(path),
    (error) =>
      new UsageError({
        message: `${path} cannot be read (${fileReason(error)}). Name a file, or - to read standard input.`
      })
  )
})

const placeOf = (dir: string | undefined) =>
  dir === undefined
    ? Effect.succeed(undefined)
    : Effect.flatMap(directoryOf(dir), (directory) =>
      Effect.map(projectOf(directory), (projectID) => ({ directory, projectID })))

/** Imports a tree, and prints the id of its root. */
export const importSession = ({ flags, operands: [file = ""] }: {
  readonly flags: { readonly "as-copy": boolean; readonly dir: string | undefined; readonly db: string | undefined }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const place = yield* placeOf(flags.dir)
    const archive = yield* file === "-" ? readInput(stdio) : readFile(file)
    const root = yield* importTree(archive, {
      copy: flags["as-copy"],
      projectOf,
      ...(place === undefined ? {} : { place })
    })
    stdio.out(`${root.id}\n`)
    yield* Effect.catchAll(checkDirectory(root.directory), () =>
      Effect.sync(() =>
        stdio.err(
          errorLine(
            `The session works in ${root.directory}, which is not a directory here. Delete it, and import it with --dir PATH to continue it elsewhere.`
          )
        )
      ))
    return ExitCode.done
  }).pipe(
    Effect.scoped,
    Effect.provide(Journal.layer.pipe(Layer.provideMerge(Layer.mergeAll(Bus.layer, Ids.layer, database(flags.db)))))
  )
