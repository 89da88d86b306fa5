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
import { hasOtherNames, makeRealPath } from "./internal/files/realPath.ts"
import { isPlan, isProtected, isProtectedInHome } from "./internal/protectedNames.ts"
import { refuse } from "./internal/refusal.ts"
import { SpillFiles } from "./SpillFiles.ts"

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

/** Records whether a file inside has other names. */
const named = (target: Target): Effect.Effect<Target> =>
  target.place === "inside"
    ? Effect.map(hasOtherNames(target.real), (linked) => linked ? { ...target, linked } : target)
    : Effect.succeed(target)

/**
 * Makes the protection of files that cannot be found by name: Skein's own, and those that the user's programs rely on.
 */
const makeGuarded = Effect.fnUntraced(function*(
  { home, own = [] }: { readonly home?: string | undefined; readonly own?: ReadonlyArray<string> },
  realPath: (at: string) => Effect.Effect<string, ToolError>,
  within: (directory: string, at: string) => boolean
) {
  const realOf = (at: string) => Effect.orElseSucceed(realPath(at), () => at)
  // Read at first use, so that the program starts without it.
  const ours = yield* Effect.cached(Effect.gen(function*() {
    const all = yield* Effect.forEach(own, realOf)
    const realHome = home === undefined ? undefined : yield* realOf(home)
    return (real: string, directory: string) =>
      all.some((each) => within(each, real) && !within(each, directory))
      || (realHome !== undefined && isProtectedInHome(real, directory, realHome))
  }))
  return (target: Target, caller: ToolCaller) =>
    target.protected || target.place === "spill" || isPlan(target.shown)
      ? Effect.succeed(target)
      : Effect.zipWith(
        ours,
        realOf(caller.directory),
        (isOurs, directory) => isOurs(target.real, directory) ? { ...target, protected: true } : target
      )
})

/** Resolves the paths of calls. */
export class Paths extends Context.Tag("@skein/tools/Paths")<Paths, {
  /**
   * Decides where a path leads, and stores that with the call's arguments. Takes absolute paths, paths relative to the
   * session's directory, `~/` and `file:` URLs. Used while a call is authorised.
   */
  readonly decide: (input: object, path: string, caller: ToolCaller) => Effect.Effect<Target, ToolError>
  /**
   * Where the path leads now. Fails if it differs from the decision for the same arguments. Used when a call is run:
   * permission was given for one place, and a link may have changed since.
   */
  readonly confirm: (input: object, path: string, caller: ToolCaller) => Effect.Effect<Target, ToolError>
}>() {
  /** Paths of the file system; `home` is what `~/` means. */
  static readonly layer = (options: {
    readonly home?: string | undefined
    /** Skein's own files and directories, absolute. They are protected wherever they are. */
    readonly own?: ReadonlyArray<string>
  } = {}): Layer.Layer<Paths, never, FileSystem.FileSystem | Path.Path | SpillFiles> =>
    Layer.effect(
      Paths,
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const path = yield* Path.Path
        const spill = yield* SpillFiles
        const realPath = makeRealPath(fs, path)
        const absolute = makeAbsolute(path, options.home)
        const decided = new WeakMap<object, Map<string, Target>>()
        const within = (directory: string, at: string) =>
          at === directory || at.startsWith(directory.endsWith(path.sep) ? directory : directory + path.sep)

        const protect = yield* makeGuarded(options, realPath, within)

        const posix = (at: string) => path.sep === "/" ? at : at.replaceAll(path.sep, "/")

        const locate = (given: string, caller: ToolCaller): Effect.Effect<Target, ToolError> =>
          absolute(given, caller).pipe(
            Effect.flatMap((lexical) =>
              Effect.flatMap(realPath(lexical), (real) => {
                // If the real path is below the directory as written, the directory contains no link either.
                if (within(caller.directory, real)) {
                  return Effect.succeed(inside(caller.directory, real, lexical, caller))
                }
                return Effect.flatMap(realPath(caller.directory), (directory) =>
                  within(directory, real)
                    ? Effect.succeed(inside(directory, real, lexical, caller))
                    : outside(real, lexical, caller))
              })
            ),
            Effect.flatMap((target) => protect(target, caller))
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

        const decide = (input: object, given: string, caller: ToolCaller) =>
          Effect.tap(Effect.flatMap(locate(given, caller), named), (target) => {
            const known = decided.get(input)
            if (known === undefined) decided.set(input, new Map([[given, target]]))
            else known.set(given, target)
          })

        const confirm = (input: object, given: string, caller: ToolCaller) =>
          Effect.flatMap(locate(given, caller), (target) => {
            const known = decided.get(input)?.get(given)
            // By then, opening the file shows whether it has other names.
            if (known?.real === target.real) return Effect.succeed({ ...target, linked: known.linked })
            return known === undefined && target.place !== "outside" ? Effect.succeed(target) : known === undefined
              ? refuse(
                "unasked",
                `${given} leads outside of the working directory, and permission was not asked for since Skein was started anew. Call the tool again.`
              )
              : refuse(
                "moved",
                `${given} leads to ${target.real} now, and not to where permission was given for. Call the tool again.`
              )
          })

        return { decide, confirm }
      })
    )
}
