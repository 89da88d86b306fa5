/**
 * Confines commands with bubblewrap: checks once whether it works here, and decides for each command what it sees and
 * may change.
 */
import { Owner } from "@skein/core/Owner"
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as NodeFs from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import * as NodeOwner from "../../NodeOwner.ts"
import { distrust, ownProgram } from "../../OwnPrograms.ts"
import { SandboxError, type SandboxLimits, type SandboxOptions, type SandboxPlace } from "../../SandboxPlace.ts"
import { makeCredentialFiles } from "../credentialFiles.ts"
import { attempt, between, isBelow, isDirectory, isFile, isIn, isLink, isThere, namesIn, realOf } from "../disk.ts"
import { makeBwrapPlace, makePlaceholders } from "../placeholders.ts"
import { isProtectedAtTop, protectedBelow } from "../protectedNames.ts"
import { isOwnForm, makeSecretFiles, proofIn } from "../secretFiles.ts"
import { aftermath, aside, findRepositories, WatchedPaths, watchProtected } from "./aftermath.ts"
import { bwrapArguments, bwrapTrial, type Confinement } from "./bwrapArguments.ts"
import { type ApprovedPlaces, approvedPlaces, type Guarded, guardedPlaces, isOfProject } from "./guardedPlaces.ts"
import { anything, cleanCopies, configFiles, identityOf, makeMaskedFiles } from "./maskedFiles.ts"
import { installedPackages, isClosed, openSockets, outermost, visiblePlaces } from "./visiblePlaces.ts"
import { makeWatchBounds, usualBounds } from "./watchBounds.ts"

const unusable = (why: string) =>
  new SandboxError({
    message: `There is no sandbox for commands: ${why}. \`skein doctor\` says how to get one.`
  })

const unusableNow = (why: string) =>
  new SandboxError({
    message: `its sandbox cannot be used now: ${why}. Try again. `
      + "If it happens again, look for what uses up open files, processes, memory or the disk",
    isTemporary: true
  })

/** The sockets that a command would see. Through them, it could make other programs do what it may not do itself. */
const sockets = (seen: ReadonlyArray<string>, agent: ReadonlyArray<string>): ReadonlyArray<string> =>
  openSockets().filter((path) => !agent.includes(path) && seen.some((place) => isBelow(path, place)))

/** What may be changed, and what in it may not. */
type Changing = Pick<Confinement, "pinned" | "readable" | "reopened" | "writable">

/** What rules do not let be changed: all of it, what can be mounted read-only, and links by their relative paths. */
interface Denied {
  readonly all: ReadonlySet<string>
  readonly mounted: ReadonlyArray<string>
  readonly links: ReadonlyArray<string>
}

const noDenied: Denied = { all: new Set(), mounted: [], links: [] }

/** Makes the sandbox, or fails if bubblewrap cannot be used. `gitNames` are the places that a config of git names. */
export const makeBwrap = Effect.fnUntraced(function*(
  options: SandboxOptions,
  gitNames: (directory: string) => Effect.Effect<ReadonlyArray<string>>
) {
  const strength = yield* Effect.mapError(
    bwrapTrial(options),
    ({ isTemporary, why }) => isTemporary ? unusableNow(why) : unusable(why)
  )
  const owner = yield* Effect.provide(Owner, NodeOwner.layer)
  const place = yield* Effect.mapError(
    makeBwrapPlace(options, owner),
    ({ cause }) => unusableNow(`no directory for temporary files could be made (${String(cause)})`)
  )
  const filter = strength.filter === undefined ? undefined : join(place.beside, "filter")
  if (filter !== undefined) {
    yield* Effect.try({
      try: () => NodeFs.writeFileSync(filter, strength.filter ?? ""),
      catch: (cause) => unusableNow(`its filter of system calls could not be written (${String(cause)})`)
    })
  }
  const placeholders = yield* makePlaceholders(place.records, owner)
  const { HOME, SSH_AUTH_SOCK, XDG_CONFIG_HOME } = options.environment
  const home = HOME === undefined ? undefined : realOf(HOME)
  const config = XDG_CONFIG_HOME ?? (home === undefined ? undefined : join(home, ".config"))
  // Approvals, trust and rules are here. A command that could write them could allow itself anything.
  const secrets = makeSecretFiles(options)
  const ofSkein = [
    options.dataDirectory,
    ...(config === undefined ? [] : [join(config, "skein")]),
    ...options.own ?? [],
    ...options.secret ?? []
  ].map(realOf)
  const ownPlaces = () => [...new Set([...ofSkein, ...secrets.places()])]
  const credentialFiles = makeCredentialFiles(home, options.environment)
  const machine = visiblePlaces({
    environment: options.environment,
    home,
    read: options.read ?? [],
    program: realOf(process.execPath)
  })
  const maskedFiles = makeMaskedFiles(options.checked)
  // The next start of Skein runs these files.
  const installed = [
    ...installedPackages(options.installed ?? fileURLToPath(import.meta.url)),
    realOf(process.execPath)
  ]
  if (home !== undefined) {
    const configs = [join(config ?? home, "git", "config"), join(home, ".gitconfig")]
    yield* Effect.try({
      try: () => NodeFs.writeFileSync(join(place.home, ".gitconfig"), identityOf(configs)),
      catch: (cause) => unusable(`no home could be made (${String(cause)})`)
    })
  }
  const spill = join(options.dataDirectory, "spill")
  // Protected names that running commands may create.
  const consents = new Set<ReadonlyArray<string>>()
  const watchedPaths = new WatchedPaths()

  /** What may be changed in a writable tree, and around it. */
  const changing = (
    guarded: Guarded,
    beyond: ApprovedPlaces,
    directory: string,
    { approved, edits, reached = [] }: SandboxPlace
  ): Effect.Effect<Changing, SandboxError, Scope.Scope> =>
    Effect.gen(function*() {
      const held = yield* Effect.mapError(
        placeholders.hold([
          ...guarded.missingFiles.map((path) => [path, "file"] as const),
          ...guarded.missingDirectories.map((path) => [path, "directory"] as const)
        ]),
        ({ cause }) => unusable(`what is missing in ${directory} could not be kept (${String(cause)})`)
      )
      // What git and others run is protected there too, if it exists. Nothing is created in directories outside.
      const besides = yield* Effect.mapError(
        Effect.forEach(
          beyond.writable.filter(isDirectory),
          (each) => guardedPlaces({ directory: each, approved, home, named: [], isPlaceholder: () => false })
        ),
        (error) => unusable(`what is protected outside of ${directory} could not be looked at (${String(error.error)})`)
      )
      const writable = [...beyond.writable, ...guarded.writable]
      const isOpen = (path: string) => writable.some((each) => isIn(path, each) && path !== each)
      const own = ownPlaces().filter((path) =>
        isOpen(path) && isThere(path) && ![directory, ...approved, ...reached].some((each) => isIn(each, path))
      )
      const denied = edits === undefined ? noDenied : deniedIn(directory, edits)
      const deniedBeyond = edits === undefined ? [] : beyond.writable.map((each) => deniedBelow(each, edits))
      const fixed = [...(options.fixed ?? []).filter(isFile).map(realOf), ...installed].filter(isOpen)
      return {
        writable,
        readable: [
          ...beyond.readable,
          ...besides.flatMap(({ readable }) => readable),
          ...guarded.readable,
          ...own,
          ...fixed,
          ...denied.mounted,
          ...deniedBeyond.flatMap(({ mounted }) => mounted),
          ...held.map(([path]) => path)
        ],
        pinned: [
          ...guarded.pinned,
          ...besides.flatMap(({ pinned }) => pinned),
          ...[...own, ...fixed, ...denied.mounted].flatMap((path) => between(path, directory))
        ],
        reopened: guarded.reopened
      }
    })

  /** What rules do not let be changed in a tree. */
  const deniedIn = (directory: string, edits: (path: string) => Action): Denied => {
    const isFree = (path: string) => edits(path) !== "deny"
    const { directories, files, unchecked } = maskedFiles(directory, isFree, isFree)
    const all = [...files, ...directories, ...unchecked]
    const targets = files.filter(isLink).map(realOf).filter((path) => isFile(path) && isBelow(path, directory))
    return {
      all: new Set([...files, ...directories]),
      mounted: [...all.filter((path) => !isLink(path) && (isFile(path) || isDirectory(path))), ...targets],
      links: files.filter(isLink).map((path) => relative(directory, path))
    }
  }

  /** The same of a place outside, which as a whole is read-only where rules deny all that is in it. */
  const deniedBelow = (top: string, edits: (path: string) => Action): Denied => {
    const isDenied = edits(top) === "deny" || (isDirectory(top) && edits(join(top, anything)) === "deny")
    if (isDenied) return { ...noDenied, mounted: [top] }
    return isDirectory(top) ? deniedIn(top, (path) => edits(join(top, path))) : noDenied
  }

  /** Moves away what a command made although rules deny it. What did not exist could not be mounted over. */
  const undo = (
    directory: string,
    now: Denied,
    before: Denied,
    isApproved: (path: string) => boolean
  ): ReadonlyArray<string> =>
    [...now.all].filter((path) => !before.all.has(path) && !isApproved(path)).flatMap((path) =>
      attempt(() => {
        const [was, is] = [path, aside(path)].map((each) => isIn(each, directory) ? relative(directory, each) : each)
        return [`A rule denies changing ${was}. What this command made there is now ${is}.`]
      }, [])
    )

  /** Watches the tree while the command runs, and checks it afterwards. */
  const watching = (
    guarded: Guarded,
    named: ReadonlyArray<string>,
    directory: string,
    outside: ReadonlyArray<string>,
    { approved, edits, tell }: SandboxPlace
  ) =>
    Effect.gen(function*() {
      const isHome = directory === home
      yield* Effect.acquireRelease(
        Effect.sync(() => consents.add(approved)),
        () => Effect.sync(() => consents.delete(approved))
      )
      const isApproved = (path: string) =>
        [...consents].some((all) => all.some((each) => isIn(each, path) || isIn(path, each)))
      const denied = edits === undefined ? noDenied : deniedIn(directory, edits)
      const denials = edits === undefined ? [] : [
        [denied, () => deniedIn(directory, edits)] as const,
        ...outside.map((each) => [deniedBelow(each, edits), () => deniedBelow(each, edits)] as const)
      ]
      const look = aftermath({
        directory,
        names: [...guarded.names, ...denied.links],
        repositories: guarded.repositories,
        states: guarded.states,
        found: guarded.found,
        hidden: !isHome,
        approved,
        isApproved
      })
      const watched = yield* Effect.forEach(
        watchedPlaces(directory, isHome, [...named, ...ownPlaces()]),
        ([at, isNamed]) => watchProtected({ directory: at, top: directory, isApproved, isNamed, all: watchedPaths })
      )
      yield* Effect.addFinalizer(() =>
        Effect.forEach(
          [
            ...watched.flatMap((each) => each()),
            ...look(),
            ...denials.flatMap(([before, now]) => undo(directory, now(), before, isApproved))
          ],
          (note) => Effect.zipRight(Effect.logWarning(note), tell?.(note) ?? Effect.void)
        )
      )
    })

  /** Whether rules let a command see a file, and the same below packages, where only denials count. */
  const readable = ({ credentials = false, deniesReads, reads = () => "allow" }: SandboxPlace) => ({
    isOpen: (path: string) => reads(path) === "allow" || (credentials && reads(path) === "ask"),
    isOpenInPackages: deniesReads === true ? (path: string) => reads(path) !== "deny" : undefined
  })

  /** What is hidden in a place outside of the tree that a command may read or change. */
  const maskedOutside = (top: string, given: SandboxPlace) => {
    const { isOpen, isOpenInPackages } = readable(given)
    const isOwnFile = (path: string) => isOwnForm(path) || isOwnForm(join(path, "any"))
    const isCredential = (path: string) => given.credentials !== true && credentialFiles.isNamed(path, false)
    const { directories, files, unchecked } = maskedFiles(
      top,
      (below) => {
        const path = join(top, below)
        return !isOwnForm(path) && !isCredential(path) && isOpen(path)
      },
      isOpenInPackages === undefined ? undefined : (below) => isOpenInPackages(join(top, below))
    )
    const found = [...files, ...directories]
    // A directory is hidden as a whole for what would be in it.
    const inside = (path: string) => (directories.includes(path) ? join(path, anything) : path)
    return {
      own: [...found.filter(isOwnFile), ...unchecked],
      credentials: found.filter((path) => !isOwnFile(path) && isCredential(inside(path))),
      denied: found.filter((path) => !isOwnFile(path) && !isOpen(inside(path)))
    }
  }

  /** What is hidden from a command that it would otherwise see. */
  const hiding = (
    directory: string,
    guarded: Guarded,
    seen: ReadonlyArray<string>,
    writable: ReadonlyArray<string>,
    given: SandboxPlace
  ) =>
    Effect.try({
      try: () => {
        const { approved, credentials = false, visible = [] } = given
        const { isOpen, isOpenInPackages } = readable(given)
        const isSeen = (path: string) => [...machine.system, ...seen].some((each) => isBelow(path, each))
        const masked = maskedFiles(
          directory,
          (path) => !isOwnForm(join(directory, path)) && isOpen(path),
          isOpenInPackages
        )
        const named = [...approved, ...visible]
        const besides = [...visible, ...machine.added, ...writable].filter((path) =>
          isDirectory(path) && !isIn(path, directory)
        ).map((path) => maskedOutside(path, given))
        const deniedBesides = besides.flatMap(({ denied }) => denied)
        const apart = secrets.apart(directory).filter((path) =>
          // Other trees are apart, but a person may have consented to one.
          isSeen(path) && isThere(path) && (secrets.has(path) || !named.some((each) => isIn(each, path)))
        )
        const own = ownPlaces().filter((path) => isSeen(path) && isThere(path) && !isIn(directory, path))
        const ofPerson = credentials ? [] : [
          ...credentialFiles.places().filter(isSeen),
          ...hiddenHome(home, directory),
          ...besides.flatMap(({ credentials: found }) => found.filter((path) => !isIn(path, directory))),
          // Consent to a directory above the home, or to the home, does not show what programs keep there.
          ...visible.flatMap((path) => home !== undefined && isIn(home, path) ? hiddenHome(home, home) : [])
        ].filter((path) => !visible.some((each) => isIn(each, path)))
        const hidden = [
          ...masked.files,
          ...masked.directories,
          ...masked.unchecked,
          ...machine.hidden.filter((path) => !isIn(directory, path)),
          ...own,
          ...ofPerson,
          ...deniedBesides
        ].filter((path) => !approved.some((each) => isIn(each, path)))
          .concat(proofsIn(guarded, visible))
          .concat(apart, besides.flatMap(({ own: found }) => found))
        const emptied = outermost(hidden.filter(isDirectory))
        const inEmptied = (path: string) => emptied.some((each) => isIn(path, each))
        const configs = [...guarded.repositories, ...guarded.kept].map((each) => join(each, "config"))
        const copied = credentials
          ? []
          : [...configs, ...configFiles.map((name) => join(directory, name))].filter((path) =>
            !hidden.includes(path) && !inEmptied(path) && !approved.includes(path)
          )
        return {
          // If a directory above it were moved, a file could get a name by which it may be read.
          pinned: [
            ...[...masked.files, ...masked.directories].flatMap((path) => between(path, directory)),
            ...writable.flatMap((top) => deniedBesides.flatMap((path) => between(path, top)))
          ],
          unchecked: masked.unchecked,
          emptied,
          shown: [spill, ...machine.toolchains].filter((path) => inEmptied(path) && isThere(path)),
          replaced: cleanCopies(place.beside, copied),
          hidden: hidden.filter((path) => isFile(path) && !inEmptied(path))
        }
      },
      catch: (cause) => unusable(`what is hidden in ${directory} could not be looked at (${String(cause)})`)
    })

  /** Without what no consent shows, whatever was asked for. */
  const permitted = ({ approved, reached = [], visible = [], ...more }: SandboxPlace): SandboxPlace => {
    const isShown = (path: string) => !isClosed(realOf(path)) && !secrets.has(realOf(path))
    return {
      ...more,
      approved: approved.filter(isShown),
      reached: reached.filter(isShown),
      visible: visible.filter(isShown)
    }
  }

  const confine = Effect.fnUntraced(function*(asked: SandboxPlace) {
    const given = permitted(asked)
    const { approved, credentials = false, network = false, reached = [], readOnly = false, visible = [] } = given
    const directory = yield* Effect.try({
      try: () => NodeFs.realpathSync(given.directory),
      catch: () => new SandboxError({ message: `the directory ${given.directory} is gone` })
    })
    // Never make the whole machine writable: a tree that is the root directory is read-only.
    const onlyReads = readOnly || directory === "/"
    const isPlaceholder = placeholders.known()
    const named = onlyReads ? [] : (yield* gitNames(directory)).filter((path) => isIn(path, directory))
    const guarded = yield* Effect.mapError(
      guardedPlaces({
        directory,
        approved,
        home,
        named,
        isPlaceholder: (path) => watchedPaths.has(path) || isPlaceholder(path)
      }),
      (error) => unusable(`what is protected in ${directory} could not be looked at (${String(error.error)})`)
    )
    const beyond = onlyReads
      ? { writable: [], readable: [] }
      : approvedPlaces({ approved, reached, directory, home })
    const changes = onlyReads
      ? { writable: approved.filter(isFile), readable: [], pinned: [], reopened: [] }
      : yield* changing(guarded, beyond, directory, given)
    if (!onlyReads) yield* watching(guarded, named, directory, beyond.writable, given)
    const agent = credentials && SSH_AUTH_SOCK !== undefined ? [SSH_AUTH_SOCK] : []
    const seen = [
      ...machine.toolchains,
      ...[spill, ...guarded.kept, ...visible].filter(isThere),
      ...(onlyReads && directory !== "/" ? [directory] : [])
    ]
    const all = [...seen, ...changes.writable, directory, ...(credentials && home !== undefined ? [home] : [])]
    const { emptied, hidden, pinned, replaced, shown, unchecked } = yield* hiding(
      directory,
      guarded,
      all,
      beyond.writable,
      given
    )
    if (unchecked.length > 0) yield* given.say?.(tooLarge(unchecked, directory)) ?? Effect.void
    distrust(changes.writable)
    const own = (name: string) => ownProgram(name, options.environment["PATH"], directory)
    return [
      ...filter === undefined ? [] : [own("sh"), "-c", "exec 9< \"$0\" && exec \"$@\"", filter],
      own("bwrap"),
      ...filter === undefined ? [] : ["--seccomp", "9"],
      ...bwrapArguments({
        ...changes,
        pinned: [...new Set([...changes.pinned, ...(onlyReads ? [] : pinned)])],
        strength: strength.flags,
        network: options.network || network,
        ...(directory === "/" ? { system: ["/"], links: [] } : { system: machine.system, links: machine.links }),
        isRoot: machine.isRoot,
        temporary: place.temporary,
        home: home === undefined || directory === "/" || isIn(home, directory)
          ? undefined
          : [home, credentials ? home : place.home],
        // The tree is mounted over what it contains.
        ...byHome(home, [...seen.filter((path) => path === directory || !isIn(path, directory)), ...agent]),
        emptied,
        shown,
        replaced,
        blocked: [...hidden, ...sockets(all, agent)],
        directory
      })
    ]
  })

  const temporaryOf = (path: string) => join(place.temporary, path.slice("/tmp".length))
  const limits: SandboxLimits = {
    network: options.network,
    answers: options.asks !== true,
    // Paths are real, so they contain no links of the system.
    sees: (path) =>
      isClosed(path) || [...machine.system, ...machine.toolchains].some((each) => isIn(path, each))
        && !machine.hidden.some((each) => isIn(path, each)),
    isPrivate: (path) => {
      if (/^\/(?:proc|dev)\//.test(path)) return true
      if (!path.startsWith("/tmp/")) return false
      const isTheirs = isThere(path) || (dirname(path) !== "/tmp" && isThere(dirname(path)))
      return isThere(temporaryOf(path)) ? !isTheirs || NodeFs.lstatSync(temporaryOf(path)).size > 0 : !isTheirs
    }
  }
  const watch = makeWatchBounds({ ...usualBounds(), ...options.bounds }, [place.temporary, place.home])
  return { confine, limits, watch }
})

/** The places above the home come first: the sandbox has a home of its own. */
const byHome = (home: string | undefined, places: ReadonlyArray<string>) => {
  // Without a directory there, nothing could be mounted on it.
  const isAbove = (path: string) => home !== undefined && path !== home && isIn(home, path) && isDirectory(home)
  return { above: places.filter(isAbove), visible: places.filter((path) => !isAbove(path)) }
}

/** The proofs that this host has a directory, in all repositories that a command sees. */
const proofsIn = (guarded: Guarded, visible: ReadonlyArray<string>): ReadonlyArray<string> => {
  const shown = visible.filter(isDirectory).flatMap((path) => [
    path,
    join(path, ".git"),
    ...findRepositories(path, true).named.keys()
  ])
  const found = [...guarded.found.named.keys()]
  return [...new Set([...guarded.repositories, ...guarded.kept, ...found, ...shown])].map(proofIn).filter(isFile)
}

const tooLarge = (unchecked: ReadonlyArray<string>, directory: string): string => {
  const named = unchecked.slice(0, 3).map((path) => relative(directory, path)).join(", ")
  const more = unchecked.length > 3 ? ` and ${unchecked.length - 3} others` : ""
  return `The project has too many directories to check for files that must not be read. This command does not see ${named}${more}.`
}

/**
 * Which names are watched: protected ones at the top of the tree, and of these paths, such as files of Skein's own,
 * those that do not exist yet.
 */
const watchedPlaces = (directory: string, isHome: boolean, paths: ReadonlyArray<string>) => {
  const places = new Map<string, (name: string) => boolean>([
    [directory, (name) => isProtectedAtTop(name, isHome)],
    ...protectedBelow.map(([parent, isNamed]) => [join(directory, parent), isNamed] as const)
  ])
  for (const path of paths) {
    const at = dirname(path)
    if (!isIn(at, directory) || isThere(path)) continue
    const isOther = places.get(at) ?? (() => false)
    places.set(at, (name) => name === basename(path) || isOther(name))
  }
  return places
}

/** What is hidden of a home in the tree: all of it, or its hidden names. */
const hiddenHome = (home: string | undefined, directory: string): ReadonlyArray<string> => {
  if (home === undefined || !isBelow(home, directory)) return []
  if (home !== directory) return [home]
  return namesIn(home).filter((name) => name.startsWith(".") && !isOfProject(name)).map((
    name
  ) => join(home, name))
}
