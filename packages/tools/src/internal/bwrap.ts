/** Confines commands by bubblewrap: tries once whether it works here, and says for each command what it may change. */
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { SandboxError, type SandboxOptions, type SandboxPlace } from "../Sandbox.ts"
import { bwrapArguments } from "./bwrapArguments.ts"
import { bwrapTrial } from "./bwrapTrial.ts"
import { guardedPlaces } from "./guardedPlaces.ts"
import { makePlaceholders } from "./placeholders.ts"

const unusable = (why: string) =>
  new SandboxError({
    message: `There is no sandbox for commands: ${why}. \`skein doctor\` says how to get one.`
  })

/** Nothing but reading. */
const nothing = { writable: [], readable: [], pinned: [], reopened: [], blocked: [], replaced: [] }

const isThere = (path: string): boolean => NodeFs.existsSync(path)

/**
 * The places outside of the tree that a command may change: what is there, or the directory in which it is to be made,
 * unless that is so much that it cannot have been meant.
 */
const outside = (
  approved: ReadonlyArray<string>,
  directory: string,
  home: string | undefined
): ReadonlyArray<string> =>
  approved.flatMap((path) => {
    if (path === directory || path.startsWith(`${directory}/`)) return []
    if (isThere(path)) return [path]
    const parent = dirname(path)
    const isTooMuch = parent === "/" || parent === home || directory.startsWith(`${parent}/`) || !isThere(parent)
    return isTooMuch ? [] : [parent]
  })

const isFile = (path: string): boolean => NodeFs.lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false

const privately = Effect.acquireRelease(
  Effect.try({
    try: () => NodeFs.realpathSync(NodeFs.mkdtempSync(join(tmpdir(), "skein-tmp-"))),
    catch: (cause) => unusable(`no directory for temporary files could be made (${String(cause)})`)
  }),
  (directory) => Effect.promise(() => NodeFs.promises.rm(directory, { recursive: true, force: true }))
)

/** Writes down what git must not see because it only stands in the place of what is missing, besides what it does not see anyway. */
const excluding = (at: string, excludes: string, directory: string, blocked: ReadonlyArray<string>) =>
  Effect.try({
    try: () => {
      const names = blocked.filter((path) => dirname(path) === directory).map((path) => `/${basename(path)}`)
      const text = `${NodeFs.readFileSync(excludes, "utf8").trimEnd()}\n${names.join("\n")}\n`
      const file = join(at, `exclude-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`)
      NodeFs.mkdirSync(at, { recursive: true })
      NodeFs.writeFileSync(file, text)
      return file
    },
    catch: (cause) => unusable(`${excludes} could not be read (${String(cause)})`)
  })

/** Makes it, or fails where bubblewrap cannot be used. */
export const makeBwrap = Effect.fnUntraced(function*(options: SandboxOptions) {
  const strength = yield* Effect.mapError(bwrapTrial(options.environment), unusable)
  const temporary = yield* privately
  const placeholders = makePlaceholders()
  const given = { strength, network: options.network }

  return Effect.fnUntraced(function*({ approved, directory: named, readOnly = false }: SandboxPlace) {
    const directory = yield* Effect.try({
      try: () => NodeFs.realpathSync(named),
      catch: () => new SandboxError({ message: `the directory ${named} is gone` })
    })
    const guarded = yield* Effect.mapError(
      guardedPlaces({ directory, approved, isPlaceholder: placeholders.has }),
      (error) => unusable(`what is protected in ${directory} could not be looked at (${String(error.error)})`)
    )
    const kept = [join(options.dataDirectory, "spill"), ...guarded.kept].filter(isThere)
    if (readOnly) {
      const writable = approved.filter(isFile)
      return [
        "bwrap",
        ...bwrapArguments({ ...given, ...nothing, directory, writable, temporary, kept: [...kept, directory] })
      ]
    }
    const held = (paths: ReadonlyArray<string>, kind: "directory" | "file") =>
      Effect.filter(paths, (path) => placeholders.hold(path, kind))
    const blocked = yield* held(guarded.missingFiles, "file")
    const { excludes } = guarded
    return [
      "bwrap",
      ...bwrapArguments({
        ...given,
        directory,
        writable: [...outside(approved, directory, options.environment["HOME"]), ...guarded.writable],
        readable: [...guarded.readable, ...(yield* held(guarded.missingDirectories, "directory"))],
        pinned: guarded.pinned,
        reopened: guarded.reopened,
        blocked,
        replaced: excludes === undefined || blocked.length === 0
          ? []
          : [[excludes, yield* excluding(join(temporary, ".skein"), excludes, directory, blocked)]],
        temporary,
        kept
      })
    ]
  })
})
