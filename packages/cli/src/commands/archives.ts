/** `skein sessions export` and `skein sessions import`: trees as JSON documents. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import { Bus } from "@skein/core/Bus"
import { Journal } from "@skein/core/Journal"
import { type Chosen, exportTree, importTree } from "@skein/core/SessionArchive"
import { Ids } from "@skein/domain/Id"
import { chunksOf } from "@skein/server/ArchiveFile"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { resolve } from "node:path"
import { command } from "../CommandSpec.ts"
import { ExitCode, UsageError } from "../ExitCode.ts"
import { readableStorage, settle, storage } from "../internal/app.ts"
import { warnUnreadable } from "../internal/attach/database.ts"
import { fileReason, newFile } from "../internal/fileReason.ts"
import { databaseFlags } from "../internal/flags.ts"
import { sessionOf } from "../internal/ids.ts"
import { checkDirectory, currentDirectory, directoryOf, projectOf } from "../internal/place.ts"
import { tell, warn } from "../internal/print.ts"
import { configOf } from "../internal/providers.ts"
import { Stdio, type Streams } from "../Stdio.ts"

const numberOf = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`

const unwritable = (path: string) => (error: PlatformError) =>
  new UsageError({
    message: error._tag === "SystemError" && error.reason === "AlreadyExists"
      ? `--output: ${path} already exists. Name another file, or remove that one first.`
      : `--output: ${path} cannot be written (${fileReason(error)}).`
  })

const encoder = new TextEncoder()

/** Exports a tree. */
export const exportArchive = command({
  name: "export",
  summary: "Exports a session with its whole tree as one JSON document",
  details: "Name any session of the tree. Exits with 1 if a part could not be read.",
  operands: "ID",
  flags: {
    output: {
      type: "text",
      value: "FILE",
      completes: "file",
      description: "Writes to this new file instead of standard output; never overwrites a file"
    },
    ...databaseFlags
  },
  run: ({ flags, operands: [given = ""] }) =>
    Effect.gen(function*() {
      const { flush, out } = yield* Stdio
      const path = flags.output === undefined ? undefined : resolve(yield* currentDirectory, flags.output)
      const { id } = yield* sessionOf(given)
      const done = yield* path === undefined
        ? exportTree(id, (piece) => Effect.zipRight(Effect.sync(() => out(piece)), flush))
        : newFile(path, unwritable(path), (write) => exportTree(id, (piece) => write(encoder.encode(piece))))
      if (path !== undefined) {
        const what = `${numberOf(done.sessions, "session")} with ${numberOf(done.messages, "message")}`
        yield* tell(`${path}: ${what}, from the root ${done.root}.`)
      }
      if (done.unreadable.length === 0) return ExitCode.done
      yield* warnUnreadable(done.unreadable)
      yield* warn(`The archive lacks ${numberOf(done.unreadable.length, "row")}, for what cannot be read is left out.`)
      return ExitCode.failed
    }).pipe(Effect.provide(readableStorage(flags.db)))
})

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

/** Lets an archive choose no directory and no provider that the command line or the user's config does not name. */
const accepts = (given: string | undefined, providers: string) =>
  Effect.fnUntraced(function*({ directory, providers: named }: Chosen) {
    const here = given ?? (yield* currentDirectory)
    if (given === undefined && (yield* projectOf(directory)) !== (yield* projectOf(here))) {
      return yield* new UsageError({
        message:
          `The sessions of this archive work in ${directory}. Import it there, or name where they continue: --dir ${directory}`
      })
    }
    const { settings } = yield* settle(here)
    const { vendors = () => Effect.succeed([]) } = yield* configOf(here)
    const known = new Set([...providers.split(","), ...yield* vendors(settings)])
    const strange = [...named].filter((each) => !known.has(each))
    if (strange.length === 0) return
    return yield* new UsageError({
      message: `The sessions of this archive use models of ${
        strange.join(", ")
      }, which your config does not choose. To let them, add --providers ${strange.join(",")}`
    })
  })

/** Imports a tree, and prints the id of its root. */
export const importArchive = command({
  name: "import",
  summary: "Imports what `skein sessions export` wrote, all or nothing",
  details: "`-` reads standard input. Everything is checked before anything is stored.",
  operands: "FILE|-",
  flags: {
    "as-copy": { type: "switch", description: "Gives everything new ids, so that the original may exist here too" },
    dir: {
      type: "text",
      value: "PATH",
      completes: "directory",
      description: "The new working directory of the sessions; without it, they have to be of this project"
    },
    providers: {
      type: "text",
      value: "IDS",
      description: "Lets the sessions use these providers, separated by commas, beside yours"
    },
    ...databaseFlags
  },
  run: ({ flags, operands: [file = ""] }) =>
    Effect.gen(function*() {
      const stdio = yield* Stdio
      const directory = flags.dir === undefined ? undefined : yield* directoryOf(flags.dir)
      const archive = yield* file === "-" ? readInput(stdio) : readFile(file)
      const root = yield* importTree(archive, {
        copy: flags["as-copy"],
        accept: accepts(directory, flags.providers ?? ""),
        projectOf,
        ...(directory === undefined ? {} : { place: { directory, projectID: yield* projectOf(directory) } })
      })
      stdio.out(`${root.id}\n`)
      yield* Effect.catchAll(
        checkDirectory(root.directory),
        () =>
          warn(
            `The session works in ${root.directory}, which is not a directory here. Delete it, and import it with --dir PATH to continue it elsewhere.`
          )
      )
    }).pipe(
      Effect.scoped,
      Effect.provide(Journal.layer.pipe(Layer.provideMerge(Layer.mergeAll(Bus.layer, Ids.layer, storage))))
    )
})
