/** Decides what exactly is trusted: a value as written in its file and, for a hook, the project files that it names. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import { dirname, isAbsolute, join, relative, resolve } from "node:path"
import { holdsCommands, isServer, type Widening } from "./projectTrust.ts"
import { aboutDirectory } from "./serverDirectory.ts"

/** The place of a project: its git root, if it has one, and the working directory. */
export interface ProjectPlace {
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
const written = />>?\s*[^\s;|&<>()]+/g

/** The project's directory in hooks of Claude Code; a path in the project follows it. */
const projectVariable = /"?\$(?:CLAUDE_PROJECT_DIR\b|\{CLAUDE_PROJECT_DIR\})"?\/?/g

/** Possible file names in a command line, with any quoting. */
const wordsOf = (line: string): ReadonlyArray<string> =>
  [line, ...line.replaceAll(written, " ").replaceAll(projectVariable, "").split(/[\s"'`;|&<>()=$]+/)].filter((word) =>
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
