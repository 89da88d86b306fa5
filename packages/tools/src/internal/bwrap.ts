/** Confines commands by bubblewrap: tries once whether it works here, and says for each command what it may change. */
import { Owner } from "@skein/core/Owner"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import { basename, dirname, join } from "node:path"
import * as NodeOwner from "../NodeOwner.ts"
import { SandboxError, type SandboxOptions, type SandboxPlace } from "../Sandbox.ts"
import { bwrapArguments } from "./bwrapArguments.ts"
import { makeBwrapPlace } from "./bwrapPlace.ts"
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
  const owner = yield* Effect.provide(Owner, NodeOwner.layer)
  const { beside, records, temporary } = yield* Effect.mapError(
    makeBwrapPlace(options.dataDirectory, owner),
    ({ cause }) => unusable(`no directory for temporary files could be made (${String(cause)})`)
  )
  const placeholders = yield* makePlaceholders(records, owner)
  const given = { strength, network: options.network }

  return Effect.fnUntraced(function*({ approved, directory: named, readOnly = false }: SandboxPlace) {
    const directory = yield* Effect.try({
      try: () => NodeFs.realpathSync(named),
      catch: () => new SandboxError({ message: `the directory ${named} is gone` })
    })
    const guarded = yield* Effect.mapError(
      guardedPlaces({ directory, approved, isPlaceholder: placeholders.known() }),
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
    const held = yield* Effect.mapError(
      placeholders.hold([
        ...guarded.missingFiles.map((path) => [path, "file"] as const),
        ...guarded.missingDirectories.map((path) => [path, "directory"] as const)
      ]),
      ({ cause }) => unusable(`what is missing in ${directory} could not be kept (${String(cause)})`)
    )
    const blocked = held.flatMap(([path, kind]) => kind === "file" ? [path] : [])
    const { excludes } = guarded
    return [
      "bwrap",
      ...bwrapArguments({
        ...given,
        directory,
        writable: [...outside(approved, directory, options.environment["HOME"]), ...guarded.writable],
        readable: [...guarded.readable, ...held.flatMap(([path, kind]) => kind === "directory" ? [path] : [])],
        pinned: guarded.pinned,
        reopened: guarded.reopened,
        blocked,
        replaced: excludes === undefined || blocked.length === 0
          ? []
          : [[excludes, yield* excluding(beside, excludes, directory, blocked)]],
        temporary,
        kept
      })
    ]
  })
})
