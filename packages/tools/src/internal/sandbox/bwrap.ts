/** Confines commands by bubblewrap: tries once whether it works here, and says for each command what it may change. */
import { Owner } from "@skein/core/Owner"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import { basename, dirname, join } from "node:path"
import * as NodeOwner from "../../NodeOwner.ts"
import { SandboxError } from "../../SandboxError.ts"
import type { SandboxOptions, SandboxPlace } from "../../SandboxPlace.ts"
import { attempt } from "../processes.ts"
import { aftermath } from "./aftermath.ts"
import { approvedPlaces } from "./approvedPlaces.ts"
import { bwrapArguments } from "./bwrapArguments.ts"
import { makeBwrapPlace } from "./bwrapPlace.ts"
import { bwrapTrial } from "./bwrapTrial.ts"
import { guardedPlaces, protectedAtTop } from "./guardedPlaces.ts"
import { openSockets } from "./openSockets.ts"
import { makePlaceholders } from "./placeholders.ts"
import { between, isIn } from "./within.ts"

const unusable = (why: string) =>
  new SandboxError({
    message: `There is no sandbox for commands: ${why}. \`skein doctor\` says how to get one.`
  })

/** Nothing but reading. */
const nothing = { writable: [], readable: [], pinned: [], reopened: [], replaced: [] }

const isThere = (path: string): boolean => NodeFs.existsSync(path)

const real = (path: string): string => attempt(() => NodeFs.realpathSync(path), path)

const isDirectory = (path: string): boolean => NodeFs.lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

const isFile = (path: string): boolean => NodeFs.lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false

/** The sockets that a command would see: through them it could have others do what it may not do itself. */
const sockets = (seen: ReadonlyArray<string>, approved: ReadonlyArray<string>): ReadonlyArray<string> =>
  openSockets().filter((path) =>
    !approved.includes(path)
    && (!["/dev", "/proc", "/run", "/tmp"].some((hidden) => isIn(path, hidden)) ||
      seen.some((place) => isIn(path, place)))
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
  const owner = yield* Effect.provide(Owner, NodeOwner.layer)
  const { beside, records, temporary } = yield* Effect.mapError(
    makeBwrapPlace(options.dataDirectory, owner),
    ({ cause }) => unusable(`no directory for temporary files could be made (${String(cause)})`)
  )
  const placeholders = yield* makePlaceholders(records, owner)
  const given = { strength, network: options.network }
  const { HOME, XDG_CONFIG_HOME } = options.environment
  const home = HOME === undefined ? undefined : real(HOME)
  // Approvals, trust and rules lie here: a command that could write them could allow itself anything.
  const config = XDG_CONFIG_HOME ?? (home === undefined ? undefined : join(home, ".config"))
  const ownPlaces = [options.dataDirectory, ...(config === undefined ? [] : [join(config, "skein")])].map(real)

  return Effect.fnUntraced(
    function*({ approved, directory: named, reached = [], readOnly = false, tell }: SandboxPlace) {
      const directory = yield* Effect.try({
        try: () => NodeFs.realpathSync(named),
        catch: () => new SandboxError({ message: `the directory ${named} is gone` })
      })
      const guarded = yield* Effect.mapError(
        guardedPlaces({ directory, approved, home, isPlaceholder: placeholders.known() }),
        (error) => unusable(`what is protected in ${directory} could not be looked at (${String(error.error)})`)
      )
      const kept = [join(options.dataDirectory, "spill"), ...guarded.kept].filter(isThere)
      // Nobody works in the whole machine: where the tree is all there is, it may only be read.
      if (readOnly || directory === "/") {
        const writable = approved.filter(isFile)
        const blocked = sockets([...kept, directory], approved)
        return [
          "bwrap",
          ...bwrapArguments({
            ...given,
            ...nothing,
            directory,
            writable,
            blocked,
            temporary,
            kept: [...kept, directory]
          })
        ]
      }
      const held = yield* Effect.mapError(
        placeholders.hold([
          ...guarded.missingFiles.map((path) => [path, "file"] as const),
          ...guarded.missingDirectories.map((path) => [path, "directory"] as const)
        ]),
        ({ cause }) => unusable(`what is missing in ${directory} could not be kept (${String(cause)})`)
      )
      const look = aftermath({
        directory,
        names: protectedAtTop(directory === home),
        repositories: guarded.repositories,
        approved
      })
      yield* Effect.addFinalizer(() =>
        Effect.forEach(look(), (note) => Effect.zipRight(Effect.logWarning(note), tell?.(note) ?? Effect.void))
      )
      const missing = held.flatMap(([path, kind]) => kind === "file" ? [path] : [])
      const beyond = approvedPlaces({ approved, reached, directory, home })
      // What git and others run by is kept there as well, as far as it is there: nobody makes names in the directories of others.
      const besides = yield* Effect.mapError(
        Effect.forEach(
          beyond.writable.filter(isDirectory),
          (place) => guardedPlaces({ directory: place, approved, home, isPlaceholder: () => false })
        ),
        (error) => unusable(`what is protected outside of ${directory} could not be looked at (${String(error.error)})`)
      )
      const writable = [...beyond.writable, ...guarded.writable]
      const isOpen = (path: string) => writable.some((place) => isIn(path, place) && path !== place)
      const own = ownPlaces.filter((path) =>
        isOpen(path) && isThere(path) && ![directory, ...approved, ...reached].some((each) => isIn(each, path))
      )
      const fixed = (options.fixed ?? []).filter(isFile).map(real).filter(isOpen)
      const { excludes } = guarded
      return [
        "bwrap",
        ...bwrapArguments({
          ...given,
          directory,
          writable,
          readable: [
            ...beyond.readable,
            ...besides.flatMap(({ readable }) => readable),
            ...guarded.readable,
            ...own,
            ...fixed,
            ...held.flatMap(([path, kind]) => kind === "directory" ? [path] : [])
          ],
          pinned: [
            ...guarded.pinned,
            ...besides.flatMap(({ pinned }) => pinned),
            ...[...own, ...fixed].flatMap((path) => between(path, directory))
          ],
          reopened: guarded.reopened,
          blocked: [...missing, ...sockets([...writable, ...kept], approved)],
          replaced: excludes === undefined || missing.length === 0
            ? []
            : [[excludes, yield* excluding(beside, excludes, directory, missing)]],
          temporary,
          kept
        })
      ]
    }
  )
})
