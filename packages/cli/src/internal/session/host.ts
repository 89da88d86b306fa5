/** What a session needs of this machine: files, commands, an editor, and what was typed before. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import { Backend } from "@skein/backend/Backend"
import { DataDirs } from "@skein/config/DataDirs"
import { environment } from "@skein/tools/Environment"
import { machineFirst, ownProgram } from "@skein/tools/OwnPrograms"
import type { SessionHost } from "@skein/tui/SessionHost"
import { rgPath } from "@vscode/ripgrep"
import * as Config from "effect/Config"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { lstatSync, realpathSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path"
import type { AttachFlags } from "../attach/attach.ts"
import { fileReason, newFile } from "../fileReason.ts"
import { isOnMachine } from "../run/choices.ts"

/** Makes what keeps it. */
const makeKeptChoices: Effect.Effect<
  Pick<SessionHost, "keepModel" | "mayOfferModels">,
  never,
  DataDirs | FileSystem.FileSystem
> = Effect.gen(function*() {
  const fileSystem = yield* FileSystem.FileSystem
  const context = yield* Effect.context<DataDirs | FileSystem.FileSystem>()
  const { data } = yield* DataDirs
  return {
    mayOfferModels: fileSystem.makeDirectory(data, { recursive: true, mode: 0o700 }).pipe(
      Effect.zipRight(fileSystem.writeFileString(join(data, "models-offered"), "", { flag: "wx", mode: 0o600 })),
      Effect.isSuccess
    ),
    keepModel: (name) =>
      Effect.gen(function*() {
        const { setValue, userFile } = yield* Effect.promise(() => import("@skein/config/EditConfig"))
        const file = yield* userFile
        yield* setValue(file, ["model"], name)
        return file
      }).pipe(Effect.provide(context))
  }
})

/** How long a connection may take, in milliseconds. A program of this machine takes it at once. */
const patience = 200

const ofThisMachine = new Set(["127.0.0.1", "localhost", "[::1]"])

const listens = ({ hostname, port }: URL): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => {
    const socket = connect({ host: hostname.replaceAll(/[[\]]/g, ""), port: Number(port) })
    const end = (isThere: boolean) => {
      socket.destroy()
      resume(Effect.succeed(isThere))
    }
    socket.once("connect", () => end(true)).once("error", () => end(false))
    return Effect.sync(() => socket.destroy())
  }).pipe(
    Effect.timeoutTo({ duration: patience, onTimeout: () => false, onSuccess: (isThere) => isThere })
  )

/** The providers without a key whose place on this machine takes connections. */
const localServers: Effect.Effect<ReadonlyArray<string>> = Effect.gen(function*() {
  // Loaded only where there is no key.
  const { presets } = yield* Effect.promise(() => import("@skein/provider/OpenAiCompatible"))
  const found = yield* Effect.forEach(
    Object.entries(presets),
    ([id, preset]) =>
      Effect.gen(function*() {
        if (!("isLocal" in preset)) return []
        const url = yield* Config.withDefault(Config.url(preset.baseUrlName), new URL(preset.baseUrl))
        return ofThisMachine.has(url.hostname) && (yield* listens(url)) ? [id] : []
      }).pipe(Effect.orElseSucceed((): ReadonlyArray<string> => [])),
    { concurrency: "unbounded" }
  )
  return found.flat()
})

/** A file whose real place is below a directory. */
const below = (directory: string, name: string): Option.Option<string> =>
  Option.filter(
    Option.liftThrowable(() => {
      const file = resolve(directory, name)
      // A deleted file has no real place; its folder has one.
      return join(realpathSync(dirname(file)), basename(file))
    })(),
    (file) => {
      const way = relative(realpathSync(directory), file)
      return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way) && !isLink(file)
    }
  )

const isLink = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false

/** Makes what reads and writes them. */
const makeProjectFiles = Effect.map(
  FileSystem.FileSystem,
  (fileSystem): Pick<SessionHost, "create" | "read" | "write"> => ({
    read: (directory, name) =>
      Option.match(below(directory, name), {
        onNone: () => Effect.succeed(undefined),
        onSome: (file) => Effect.orElseSucceed(fileSystem.readFileString(file), () => undefined)
      }),
    create: (directory, name, pieces) => {
      const file = resolve(directory, name)
      const failed = (error: PlatformError) => ({ message: `${file} cannot be written (${fileReason(error)}).` })
      return newFile(file, failed, (write) => Stream.runForEach(pieces, write)).pipe(
        Effect.as(file),
        Effect.provideService(FileSystem.FileSystem, fileSystem)
      )
    },
    write: (directory, name, text) =>
      Option.match(below(directory, name), {
        onNone: () => Effect.fail({ message: `It is not below ${directory}.` }),
        onSome: (file) => text === undefined ? fileSystem.remove(file) : fileSystem.writeFileString(file, text)
      })
  })
)

/** How much of what a command writes is kept, in characters; and how many files are offered. */
const most = { output: 200_000, files: 50_000, history: 1_000 }

/** What a program wrote, and how it ended. */
interface Ended {
  readonly output: string
  readonly exit: number
}

/** Runs a program without a terminal; interruption ends it. */
const run = (
  file: string,
  args: ReadonlyArray<string>,
  cwd: string,
  env: Readonly<Record<string, string | undefined>>
): Effect.Effect<Ended> =>
  Effect.async<Ended>((resume) => {
    let output = ""
    const child = spawn(ownProgram(file, env["PATH"], cwd), args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] })
    const hear = (text: string) => {
      if (output.length < most.output) output += text
    }
    child.stdout.setEncoding("utf8").on("data", hear)
    child.stderr.setEncoding("utf8").on("data", hear)
    child.once("error", (error) => resume(Effect.succeed({ output: error.message, exit: 127 })))
    child.once("close", (code) => resume(Effect.succeed({ output, exit: code ?? 1 })))
    return Effect.sync(() => child.kill())
  })

/** Runs a program that takes the terminal. */
const take = (command: string, file: string, env: Readonly<Record<string, string | undefined>>) =>
  Effect.async<void>((resume) => {
    const child = spawn(ownProgram("sh", env["PATH"], process.cwd()), ["-c", `${command} "$1"`, "sh", file], {
      env: machineFirst(env, process.cwd()),
      stdio: "inherit"
    })
    child.once("error", () => resume(Effect.void))
    child.once("close", () => resume(Effect.void))
  })

/** Checks the names in what was typed before it is sent. */
const makeCheck =
  (context: Context.Context<Backend | FileSystem.FileSystem>): SessionHost["check"] =>
  ({ directory, seesFiles, session }, text) =>
    Effect.gen(function*() {
      const notes: Array<string> = []
      const { checkNames } = yield* Effect.promise(() => import("../run/mistyped.ts"))
      const checked = Effect.flatMap(
        Backend,
        ({ projects: all }) => {
          const projects = session === undefined ? all : all.of(session)
          return checkNames(text, { directory, projects, seesFiles }, (line) => notes.push(line))
        }
      )
      const refused = yield* checked.pipe(
        Effect.as(undefined),
        // What is wrong with the project itself is said when the prompt is sent.
        Effect.catchAll((error) => Effect.succeed(error._tag === "UsageError" ? error.message : undefined)),
        Effect.provide(context)
      )
      return { refused, notes }
    })

/** Makes it; the flags say where sessions are, also for commands that it runs. */
export const makeHost = Effect.fnUntraced(function*({ db }: Pick<AttachFlags, "db">) {
  const fileSystem = yield* FileSystem.FileSystem
  const context = yield* Effect.context<Backend | FileSystem.FileSystem>()
  const [files, choices] = yield* Effect.all([makeProjectFiles, makeKeptChoices])
  const { data } = yield* DataDirs
  const variables = yield* environment
  const fileOf = (directory: string) =>
    join(data, "history", `${createHash("sha256").update(directory).digest("hex").slice(0, 16)}.jsonl`)

  const history = (directory: string) =>
    fileSystem.readFileString(fileOf(directory)).pipe(
      Effect.map((text) =>
        text.split("\n").slice(-most.history).flatMap((line) =>
          Option.toArray(Option.filter(
            Option.liftThrowable((): unknown => JSON.parse(line))(),
            (value): value is string => typeof value === "string"
          ))
        )
      ),
      // There is none before the first prompt.
      Effect.orElseSucceed(() => [])
    )

  const remember = (directory: string, text: string) =>
    Effect.gen(function*() {
      yield* fileSystem.makeDirectory(join(data, "history"), { recursive: true, mode: 0o700 })
      yield* fileSystem.writeFileString(fileOf(directory), `${JSON.stringify(text.slice(0, 100_000))}\n`, {
        flag: "a",
        mode: 0o600
      })
    }).pipe(Effect.catchAll((error) => Effect.logWarning("What was typed is not kept", error.message)))

  const edit = (text: string) =>
    Effect.gen(function*() {
      const editor = variables["VISUAL"] ?? variables["EDITOR"]
      if (editor === undefined || editor.trim() === "") return undefined
      const file = yield* fileSystem.makeTempFile({ directory: tmpdir(), prefix: "skein-", suffix: ".md" })
      yield* fileSystem.writeFileString(file, text, { mode: 0o600 })
      yield* take(editor, file, variables)
      const edited = yield* fileSystem.readFileString(file)
      yield* fileSystem.remove(file)
      return edited
    }).pipe(Effect.catchAll((error) => Effect.as(Effect.logWarning("The editor's file", error.message), undefined)))

  return {
    files: (directory) =>
      Effect.map(
        run(rgPath, ["--files", "--hidden", "--glob", "!.git"], directory, variables),
        // Otherwise its output is an error.
        ({ exit, output }) =>
          exit === 0 ? output.split("\n").filter((line) => line !== "").slice(0, most.files).toSorted() : []
      ),
    check: makeCheck(context),
    sees: (directory, machine) => isOnMachine(directory, machine),
    ...files,
    localServers,
    ...choices,
    shell: (directory, command) => run("bash", ["-c", command], directory, variables),
    program: (directory, args) =>
      Effect.map(
        run(process.execPath, [process.argv[1] ?? "", ...args], directory, {
          ...variables,
          ...(db === undefined ? {} : { SKEIN_DB: db }),
          NO_COLOR: "1"
        }),
        ({ output }) => output
      ),
    edit,
    history,
    remember
  } satisfies SessionHost
})
