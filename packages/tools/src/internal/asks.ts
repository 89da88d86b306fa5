/** Decides which permission a call on files needs. */
import type { PermissionAsk } from "@skein/core/Tool"
import type { Target } from "../Paths.ts"

/** Patterns that may be stored as rules. A name with a wildcard in it would allow more than that name. */
export const asRules = (patterns: ReadonlyArray<string>): ReadonlyArray<string> =>
  patterns.some((pattern) => /[*?]/.test(pattern.replace(/\/\*$/, ""))) ? [] : patterns

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/"))

/**
 * The question whether a call may leave the session's directory for this path. `always` allows the file, or the directory with
 * its contents, but never the whole file system.
 */
const externalAsk = (
  { linked, real }: Target,
  { directory, metadata }: { readonly directory: boolean; readonly metadata: Readonly<Record<string, unknown>> }
): PermissionAsk => ({
  permission: "external_directory",
  patterns: [real],
  always: asRules(real === "/" ? [] : directory && !linked ? [real, `${real}/*`] : [real]),
  metadata: linked
    ? { ...metadata, reason: "The file is a hard link: it has other names, which may be outside." }
    : metadata
})

/**
 * Whether looking at this file means looking outside. A hard link may lead anywhere, except those that package managers
 * make from their store.
 */
export const isOutside = ({ linked, place, shown }: Target): boolean =>
  place === "outside" || (linked && !/(?:^|\/)node_modules\//.test(shown))

/**
 * The permission that a call needs to look at a file, or at a directory with its contents. The session's own long
 * outputs need none.
 */
export const lookAsks = (
  permission: string,
  target: Target,
  options: {
    /** What rules see of the call. */
    readonly pattern: string
    readonly directory: boolean
    readonly metadata: Readonly<Record<string, unknown>>
  }
): ReadonlyArray<PermissionAsk> => {
  if (target.place === "spill") return []
  const asks: ReadonlyArray<PermissionAsk> = [
    ...(isOutside(target) ? [externalAsk(target, options)] : []),
    { permission, patterns: [options.pattern], always: asRules([options.pattern]), metadata: options.metadata }
  ]
  return target.credential === true
    ? asks.map(onlyByPerson(ofCredentials))
    : target.personal === true
    ? asks.map(onlyByPerson(ofConfig))
    : asks
}

/** Why a person is asked about the user's config. */
export const ofConfig = "It is Skein's own config, which may hold keys."

/** Why a person is asked about the keys and passwords of programs. */
export const ofCredentials = "It holds keys or passwords."

/** A question that only a person answers, each time. */
export const onlyByPerson = (reason: string) => (ask: PermissionAsk): PermissionAsk => ({
  ...ask,
  always: [],
  metadata: { ...ask.metadata, reason },
  protected: true
})

/** What `always` allows for edits: the directory of the file. For a file at the top, only that file. */
const besides = (path: string): string => parentOf(path) === "" || !path.includes("/") ? path : `${parentOf(path)}/**`

const offersOf = (path: string): ReadonlyArray<string> => /[*?]/.test(path) ? [] : [besides(path)]

/** The permission that a call needs to change these files. */
export const changeAsks = (
  targets: ReadonlyArray<Target>,
  options: {
    readonly metadata: Readonly<Record<string, unknown>>
    /** What the user asked for in this turn. */
    readonly consents?: ReadonlySet<string>
  }
): ReadonlyArray<PermissionAsk> => {
  const { consents, metadata } = options
  const patterns = targets.map(({ shown }) => shown)
  const requested = consents?.has("/init") === true && patterns.every((each) => each === "AGENTS.md")
  return [
    ...targets.filter(({ linked, place }) => place !== "inside" || linked).map((target) =>
      externalAsk(target, { directory: false, metadata })
    ),
    targets.some((target) => target.protected)
      ? { permission: "edit", patterns, always: [], metadata, protected: true, ...(requested ? { requested } : {}) }
      : { permission: "edit", patterns, always: [...new Set(patterns.flatMap(offersOf))], metadata }
  ]
}
