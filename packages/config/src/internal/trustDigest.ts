/** Decides what exactly is trusted: a value in a file as it is written and, of a hook, the files of the project that it names. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import { dirname, isAbsolute, join, relative, resolve } from "node:path"
import { holdsCommands, isServer, type Widening } from "./projectTrust.ts"

/** Where a project lies: its git root, if it has one, and the directory that is worked in. */
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

/** What a line only writes to, such as a log: that changes whenever it runs. */
const written = />>?\s*[^\s;|&<>()]+/g

/** Where the project lies, as hooks of Claude Code write it: what follows is a path in it. */
const projectVariable = /"?\$(?:CLAUDE_PROJECT_DIR\b|\{CLAUDE_PROJECT_DIR\})"?\/?/g

/** What may be names of files in a command line, whichever way it is quoted. */
const wordsOf = (line: string): ReadonlyArray<string> =>
  [line, ...line.replaceAll(written, " ").replaceAll(projectVariable, "").split(/[\s"'`;|&<>()=$]+/)].filter((word) =>
    word !== ""
  )

const isScript = /\.(?:[cm]?[jt]sx?|py|sh|bash|rb|pl|php|lua|jar|ps1)$/i

/** The files of the project that hooks and servers name, with what they hold: who trusts a command has trusted what it runs. */
const filesOf = Effect.fnUntraced(function*(widening: Widening, { directory, root }: ProjectPlace) {
  const { origin, value } = widening
  const fs = yield* FileSystem.FileSystem
  const folder = dirname(origin.name)
  const bounds = root ?? folder
  const bases = [...new Set([folder, bounds, directory])]
  const paths = new Set(
    textsIn(value).flatMap(wordsOf).flatMap((word) => bases.map((base) => resolve(join(base, "."), word)))
      .filter((path) => isBelow(path, bounds))
  )
  const found = yield* Effect.forEach([...paths].toSorted(), (path) =>
    fs.stat(path).pipe(
      // What a server works on may change; what it is must not.
      Effect.filterOrFail(({ mode, type }) =>
        type === "File" && (!isServer(widening.path) || (mode & 0o111) !== 0 || isScript.test(path))
      ),
      Effect.zipRight(fs.readFile(path)),
      Effect.map((bytes) => [[relative(bounds, path), sha256(bytes)] as const]),
      // What cannot be read cannot be run either; when it is there one day, it is something else.
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
