/**
 * Decides where a path of a tool call leads, and what permission that needs. All decisions use real paths, and a call
 * may only go where permission was decided.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import type { ToolCaller, ToolError } from "@skein/core/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as NodeFs from "node:fs"
import { delimiter, isAbsolute } from "node:path"
import { type CredentialFiles, makeCredentialFiles } from "./internal/credentialFiles.ts"
import { isBelow, isIn, realOf } from "./internal/disk.ts"
import { makeGitNames } from "./internal/git/gitNames.ts"
import { isPlan, isProtected, isProtectedInHome } from "./internal/protectedNames.ts"
import { refuse, refuseOwn } from "./internal/refusal.ts"
import { isOwnForm, makeSecretFiles, type SecretFiles } from "./internal/secretFiles.ts"
import { SpillFiles } from "./SpillFiles.ts"

type Failure = NodeJS.ErrnoException

/** One system call. FileSystem.realPath resolves each name of the path in turn, which takes ten times as long. */
const systemRealPath = (path: string): Effect.Effect<string, Failure> =>
  Effect.async((resume) => {
    NodeFs.realpath.native(path, (error, real) => resume(error === null ? Effect.succeed(real) : Effect.fail(error)))
  })

/** Whether a real path is a file with other names. It is unknown where those are. */
export const hasOtherNames = (real: string): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    // If it cannot be checked, using it reports why.
    NodeFs.lstat(real, (error, stats) => resume(Effect.succeed(error === null && stats.isFile() && stats.nlink > 1)))
  })

/** How many links may lead to one another. */
const maximumLinks = 40

/**
 * The real path of an absolute path: that of the deepest existing ancestor, plus the rest. A broken link resolves to
 * its target, because writing through it would create that.
 */
export const makeRealPath = (fs: FileSystem.FileSystem, path: Path.Path) => {
  const follow = (
    at: string,
    links: number,
    ifMissing: Effect.Effect<void, ToolError> = Effect.void
  ): Effect.Effect<string, ToolError> =>
    Effect.catchAll(systemRealPath(at), (error) => {
      switch (error.code) {
        case "ENOENT":
        case "ENOTDIR":
          return Effect.zipRight(ifMissing, missing(at, links))
        case "ELOOP":
          return refuse("bad_path", `${at} is a link that leads back to itself. Give a path that ends somewhere.`)
        case "ENAMETOOLONG":
          return refuse("bad_path", `A name in the path is too long (${at.length} characters in all). Shorten it.`)
        default:
          return refuse("file", `Could not find out where ${at} leads: ${error.message}.`)
      }
    })

  const missing = (at: string, links: number): Effect.Effect<string, ToolError> => {
    const parent = path.dirname(at)
    if (parent === at) return Effect.succeed(at)
    return Effect.flatMap(follow(parent, links), (directory) => {
      const whole = path.join(directory, path.basename(at))
      return Effect.matchEffect(fs.readLink(whole), {
        onFailure: () => Effect.succeed(whole),
        onSuccess: (link) =>
          links >= maximumLinks
            ? refuse(
              "bad_path",
              `${at} leads through more than ${maximumLinks} links. Give the path that they lead to.`
            )
            : follow(path.resolve(directory, link), links + 1)
      })
    })
  }

  return (at: string, ifMissing?: Effect.Effect<void, ToolError>): Effect.Effect<string, ToolError> =>
    follow(at, 0, ifMissing)
}

/** Fails if a session works in a directory that was removed. To make a file there would bring it back. */
const stillThere = ({ directory }: ToolCaller): Effect.Effect<void, ToolError> =>
  Effect.catchAll(Effect.asVoid(systemRealPath(directory)), ({ code }) =>
    code === "ENOENT"
      ? refuse(
        "not_found",
        `The working directory ${directory} no longer exists. Nothing can be read or made in it: end, and tell the user.`
      )
      : Effect.void)

/** Where a path leads. */
export interface Target {
  /** The absolute path without links: the one that is opened. */
  readonly real: string
  /**
   * The path as rules, people and models see it: relative and with `/` in the session's directory, absolute elsewhere.
   */
  readonly shown: string
  /** `inside` the session's directory, `outside` it, or one of the session's own `spill` files. */
  readonly place: "inside" | "outside" | "spill"
  /** Whether a person is asked before each change of it. */
  readonly protected: boolean
  /** Whether it is a file inside with other names, which may be outside. */
  readonly linked: boolean
  /** Whether a person is asked before each look at it: it is the user's config, which may hold keys. */
  readonly personal?: boolean
  /** Whether a person is asked before each look at it: programs of the user keep keys or passwords in it. */
  readonly credential?: boolean
}

/** Which files are Skein's own, all absolute. */
export interface OwnFiles {
  /** Files and directories that only a person lets a call change, wherever they are. */
  readonly own?: ReadonlyArray<string>
  /** Where Skein keeps its files. No call sees any of them but long outputs, the trees of isolated tasks and workspaces. */
  readonly dataDirectory?: string
  /** More files and directories that no call sees. */
  readonly secret?: ReadonlyArray<string>
  /** The register of all programs of Skein of this user. No call sees their files either. */
  readonly register?: string
  /** The environment, which names files with credentials. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** The user's config. A person is asked before each look at what may hold keys. */
  readonly settings?: string
}

/** Makes the parser of paths: plain ones, those below the home directory, and URLs. */
const makeAbsolute = (path: Path.Path, home: string | undefined) => {
  const fromUrl = (given: string) => {
    const unusable = refuse(
      "bad_path",
      `${given} names no file. Give a plain path, or a URL such as file:///a/b.ts.`
    )
    if (!URL.canParse(given)) return unusable
    return path.fromFileUrl(new URL(given)).pipe(
      Effect.catchAll(() => unusable),
      Effect.filterOrElse((at) => !at.includes("\0"), () => unusable)
    )
  }

  return (given: string, caller: ToolCaller): Effect.Effect<string, ToolError> => {
    if (given.includes("\0")) return refuse("bad_path", "A path must not contain a NUL character. Leave it out.")
    if (given.trim() === "") return refuse("bad_path", "The path is empty. Give the path of a file or directory.")
    if (/^file:/i.test(given)) return fromUrl(given)
    if (home !== undefined && /^~(?=[/\\]|$)/.test(given)) {
      return Effect.succeed(path.join(home, given.slice(1)))
    }
    return Effect.succeed(path.resolve(caller.directory, given))
  }
}

/**
 * Makes the protection of files that cannot be found by name: Skein's own, and those that the user's programs rely on.
 */
const makeGuarded = Effect.fnUntraced(function*(
  { environment = {}, home, own = [], settings }: OwnFiles & { readonly home?: string | undefined },
  { credentials }: Hidden,
  realPath: (at: string) => Effect.Effect<string, ToolError>,
  within: (directory: string, at: string) => boolean
) {
  const resolved = (at: string) => Effect.orElseSucceed(realPath(at), () => at)
  // Found at first use, so that the program starts without it.
  const finding = yield* Effect.cached(Effect.gen(function*() {
    const all = yield* Effect.forEach(own, resolved)
    const realHome = home === undefined ? undefined : yield* resolved(home)
    const config = settings === undefined ? undefined : yield* resolved(settings)
    const programs = yield* Effect.forEach(
      (environment["PATH"] ?? "").split(delimiter).filter((each) => isAbsolute(each)),
      resolved
    )
    const isOurs = (real: string, directory: string) =>
      all.some((each) => within(each, real) && !within(each, directory))
      || programs.some((each) => within(each, real) && !within(directory, each))
      || (realHome !== undefined && isProtectedInHome(real, directory, realHome))
    const isPersonal = (real: string, directory: string) =>
      config !== undefined && within(config, real) && !within(config, directory)
      && !isForModels(real.slice(config.length + 1))
    return { isOurs, isPersonal }
  }))
  // To read what is cached takes Effect some twenty operations.
  let known: Effect.Effect.Success<typeof finding> | undefined
  const ours = Effect.suspend(() =>
    known === undefined ? Effect.tap(finding, (found) => Effect.sync(() => known = found)) : Effect.succeed(known)
  )
  const gitNames = makeGitNames(environment)
  /** `tree` is that of an isolated task, or the workspace, in which the target lies. */
  return (target: Target, directory: string, tree: string | undefined) =>
    target.place === "spill" || isPlan(target.shown)
      ? Effect.succeed(target)
      : Effect.zipWith(ours, gitNames(directory), ({ isOurs, isPersonal }, byGit): Target => {
        const credential = credentials.has(target.real, target.place === "inside")
        return {
          ...target,
          protected: target.protected || credential || isOurs(target.real, directory)
            || byGit.some((each) => within(each, target.real))
            || (tree !== undefined && !within(tree, directory)),
          personal: isPersonal(target.real, directory),
          ...(credential ? { credential } : {})
        }
      })
})

/** Whether a file of the user's config is there to be read by models: texts, and what skills, agents and commands need. */
const isForModels = (path: string): boolean => /^(?:skills?|agents?|commands?)(?:[/\\]|$)|\.md$/i.test(path)

/** Memory and environment of processes: Skein's own contain its keys. */
const isOfProcess = (real: string): boolean => /^\/proc\/\d+\/(?:task\/\d+\/)?(?:environ|mem)$/.test(real)

/** What is kept from models: by all consents, and by all but that of a person. */
interface Hidden {
  readonly secrets: SecretFiles
  readonly credentials: CredentialFiles
}

const makeHidden = (options: OwnFiles & { readonly home?: string | undefined }): Hidden => ({
  secrets: makeSecretFiles(options),
  credentials: makeCredentialFiles(options.home, options.environment ?? {})
})

/** Keeps files from calls that none may see: by the path where they are, and by that of a link to them. */
const makeSecrets = (own: OwnFiles, { credentials, secrets }: Hidden, path: Path.Path) => {
  /**
   * Refuses what is secret. Returns the tree of an isolated task, or the workspace, in which the target lies, and whether
   * it is a file with other names.
   */
  const refuseSecret = ({ place, real }: Target, given: string, lexical: string) => {
    if (place === "spill") return Effect.succeed({ tree: undefined, linked: false })
    const link = lexical === real ? real : path.join(realOf(path.dirname(lexical)), path.basename(lexical))
    const { linked, secret, tree } = secrets.look(real)
    return isOfProcess(real) || secret || (link !== real && secrets.has(link))
      ? refuseOwn(given)
      : Effect.succeed({ tree, linked })
  }
  const hiddenIn = (real: string) => {
    const personal = own.settings === undefined ? [] : [realOf(own.settings)].filter((each) => !isIn(real, each))
    return [...secrets.apart(real), ...personal].filter((each) => isBelow(each, real))
  }
  const hides = ({ credential, place, real }: Target, look: "names" | "contents" = "names") => {
    const hidden = hiddenIn(real)
    const inside = place === "inside"
    return (below: string) => {
      const at = path.join(real, below)
      return hidden.some((each) => isIn(at, each)) || isOwnForm(at)
        || (look === "contents" && (secrets.isAlias(at) || (credential !== true && credentials.has(at, inside))))
    }
  }
  const holds = ({ place, real }: Target) => {
    // The shell finds files by a pattern in what is before it.
    const directory = /[*?[]/.test(real) ? path.dirname(real.replace(/[*?[].*$/s, "x")) : real
    return hiddenIn(directory).length > 0
      || (place === "outside" && credentials.places().some((each) => isBelow(each, directory) && each !== real))
  }
  return { hides, holds, refuseSecret }
}

/** Resolves the paths of calls. */
export class Paths extends Context.Tag("@skein/tools/Paths")<Paths, {
  /**
   * Decides where a path leads: the plan of a call. Takes absolute paths, paths relative to the session's directory, `~/` and
   * `file:` URLs. Used while a call is authorised.
   */
  readonly decide: (path: string, caller: ToolCaller) => Effect.Effect<Target, ToolError>
  /**
   * Fails if a path does not lead any more where it was decided to lead. Used when a call is run: permission was given for one
   * place, and a link may have changed since.
   */
  readonly confirm: (decided: Target, path: string, caller: ToolCaller) => Effect.Effect<Target, ToolError>
  /**
   * Says of paths relative to a directory whether no search shows them: they are Skein's own, or hold credentials. Who
   * shows contents has to ask for that.
   */
  readonly hides: (directory: Target, look?: "names" | "contents") => (path: string) => boolean
  /** Whether known files of Skein's own, or credentials, lie below a directory, or where a pattern is looked for. */
  readonly holds: (directory: Target) => boolean
}>() {
  /** Paths of the file system; `home` is what `~/` means. */
  static readonly layer = (
    options: OwnFiles & { readonly home?: string | undefined } = {}
  ): Layer.Layer<Paths, never, FileSystem.FileSystem | Path.Path | SpillFiles> =>
    Layer.effect(
      Paths,
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const path = yield* Path.Path
        const spill = yield* SpillFiles
        const realPath = makeRealPath(fs, path)
        const absolute = makeAbsolute(path, options.home)
        const within = (directory: string, at: string) =>
          at === directory || at.startsWith(directory.endsWith(path.sep) ? directory : directory + path.sep)

        const hidden = makeHidden(options)
        const protect = yield* makeGuarded(options, hidden, realPath, within)
        const { hides, holds, refuseSecret } = makeSecrets(options, hidden, path)

        const posix = (at: string) => path.sep === "/" ? at : at.replaceAll(path.sep, "/")

        const locate = (given: string, lexical: string, real: string, caller: ToolCaller) =>
          // If the real path is below the directory as written, the directory contains no link either.
          (within(caller.directory, real) ? Effect.succeed(caller.directory) : realPath(caller.directory)).pipe(
            Effect.flatMap((directory) =>
              (within(directory, real)
                ? Effect.succeed(inside(directory, real, lexical, caller))
                : outside(real, lexical, caller)).pipe(
                  Effect.flatMap((target) =>
                    Effect.flatMap(refuseSecret(target, given, lexical), ({ linked, tree }) =>
                      protect(linked && target.place === "inside" ? { ...target, linked } : target, directory, tree))
                  )
                )
            )
          )

        const inside = (directory: string, real: string, lexical: string, caller: ToolCaller): Target => {
          const shown = posix(path.relative(directory, real)) || "."
          const written = within(caller.directory, lexical) ? posix(path.relative(caller.directory, lexical)) : shown
          const guarded = isProtected(shown) || isProtected(written)
          return { real, shown, place: "inside", protected: guarded, linked: false }
        }

        const outside = (real: string, lexical: string, caller: ToolCaller) =>
          Effect.map(realPath(spill.directory(caller.sessionID)), (kept): Target => {
            const guarded = isProtected(posix(real)) || isProtected(posix(lexical))
            const place = within(kept, real) ? "spill" : "outside"
            return { real, shown: posix(real), place, protected: guarded, linked: false }
          })

        /** Where a path leads now. */
        const follow = (given: string, caller: ToolCaller) =>
          Effect.flatMap(
            absolute(given, caller),
            (lexical) =>
              Effect.map(realPath(lexical, stillThere(caller)), (real) => ({ lexical, real }))
          )

        const decide = (given: string, caller: ToolCaller) =>
          Effect.flatMap(follow(given, caller), ({ lexical, real }) =>
            locate(given, lexical, real, caller))

        const confirm = (decided: Target, given: string, caller: ToolCaller) =>
          Effect.flatMap(follow(given, caller), ({ lexical, real }) =>
            // The decision holds for the place. Opening the file shows whether it has other names by then.
            decided.real === real ? Effect.succeed(decided) : Effect.zipRight(
              locate(given, lexical, real, caller),
              refuse(
                "moved",
                `${given} leads to ${real} now, and not to where permission was given for. Call the tool again.`
              )
            ))

        return { decide, confirm, hides, holds }
      })
    )
}
