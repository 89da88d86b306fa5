/**
 * Decides which permission a command line needs: for each of its programs, and for the files that it reads, writes or
 * names.
 */
import { defaultRules } from "@skein/core/Agent"
import { evaluate } from "@skein/core/Ruleset"
import type { PermissionAsk, ToolCaller } from "@skein/core/Tool"
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { resolve } from "node:path"
import type { Paths, Target } from "../../Paths.ts"
import { asRules, changeAsks, lookAsks, ofConfig, ofCredentials, onlyByPerson } from "../asks.ts"
import { isDirectory } from "../disk.ts"
import { type makeGitReplaces, type TrackedNames, withGitReads } from "./gitFiles.ts"
import { offersFor } from "./offers.ts"
import type { Parts } from "./parts.ts"
import { makePlaces, type Places, type Touched } from "./places.ts"
import { type LookAtRepository, withRepositories } from "./repositories.ts"
import { withScripts, withTreePrograms } from "./scripts.ts"
import { takeApart } from "./takeApart.ts"
import { touch } from "./touch.ts"

interface BashCall {
  readonly command: string
  readonly description?: string | undefined
}

const bashAsk = (
  call: BashCall,
  parts: Parts,
  touched: Touched,
  metadata: PermissionAsk["metadata"]
): PermissionAsk => {
  const { also, invocations, settings } = parts
  const unclear = parts.unclear ?? touched.unclear ??
    (parts.moves === undefined ? "It changes its directory in a way that cannot be followed." : undefined)
  const risky = invocations.filter(({ pattern, risk }) => risk !== undefined || touched.guarded.has(pattern))
  const patterns = [...new Set([...invocations.map(({ pattern }) => pattern), ...settings])]
  const reasons = [...invocations.map(({ risk }) => risk), unclear].filter((reason) => reason !== undefined)
  return {
    permission: "bash",
    patterns: patterns.length === 0 ? [call.command.trim()] : patterns,
    exact: [...new Set([...risky.map(({ pattern }) => pattern), ...settings])],
    reads: [...new Set(invocations.flatMap((each) => each.reads && !risky.includes(each) ? [each.pattern] : []))],
    beginnings: Object.fromEntries(
      invocations.flatMap(({ beginning, pattern, program, risk, runs }) => {
        const named = risk === undefined && runs === true ? program : beginning
        return named === undefined ? [] : [[pattern, named]]
      })
    ),
    ordinary: invocations.flatMap(({ ordinary, pattern }) => ordinary === true ? [pattern] : []),
    runs: [...new Set([...invocations.flatMap(({ pattern, runs }) => runs === true ? [pattern] : []), ...settings])],
    runsProject: invocations.flatMap(({ pattern, runsProject }) => runsProject === true ? [pattern] : []),
    also: [...also, call.command.trim()],
    ...(touched.opens ? { opens: true } : {}),
    ...(unclear === undefined ? {} : { unclear: true }),
    always: unclear === undefined ? offersFor(parts) : [],
    metadata: reasons.length === 0 ? metadata : { ...metadata, reasons: [...new Set(reasons)].slice(0, 8) }
  }
}

/** What only a person may allow to be read: the user's config and credentials, and without a sandbox what lies around Skein's own files. */
const personalAsks = (touched: Touched, metadata: PermissionAsk["metadata"]): ReadonlyArray<PermissionAsk> => {
  const asksFor = (targets: ReadonlyMap<string, Target>, more: PermissionAsk["metadata"]) => {
    const patterns = [...targets.values()].map(({ shown }) => shown)
    const ask = { permission: "read", patterns, always: [], metadata: { ...metadata, ...more } }
    return patterns.length === 0 ? [] : [ask]
  }
  return [
    ...asksFor(touched.personal, {}).map(onlyByPerson(ofConfig)),
    ...asksFor(touched.credentials, {}).map(onlyByPerson(ofCredentials)),
    ...asksFor(touched.holding, {
      searched: true,
      reason: "Files of Skein's own, or keys and passwords, are below it, and nothing hides them from this command."
    }).map((ask) => ({ ...ask, protected: true }))
  ]
}

/** Two questions of one line as one: the first names the second, which needs no answer once a person gave it. */
const asOne = (first: PermissionAsk, second: PermissionAsk): ReadonlyArray<PermissionAsk> => {
  let isAnswered = false
  const { reasons } = first.metadata
  const also = `It also needs the permission ${second.permission}: ${second.patterns.join(", ")}.`
  return [
    {
      ...first,
      metadata: { ...first.metadata, reasons: [...(Array.isArray(reasons) ? reasons : []), also] },
      allowed: (by) => {
        isAnswered = by === "person"
      }
    },
    { ...second, needless: () => isAnswered }
  ]
}

/** The questions for the files that a line changes, and for the line itself. */
const actingAsks = (changed: ReadonlyArray<Target>, bash: PermissionAsk, metadata: PermissionAsk["metadata"]) => {
  const asks = changed.length === 0 ? [] : changeAsks(changed, { metadata })
  const edit = asks.at(-1)
  if (edit === undefined) return [bash]
  // A person is always asked about a protected file, and then sees the command.
  return [...asks.slice(0, -1), ...edit.protected === true ? asOne(edit, bash) : asOne(bash, edit)]
}

/** The question of a git command that has to replace protected files. */
const replacingAsk = (call: BashCall, files: ReadonlyArray<string>, metadata: PermissionAsk["metadata"]) => ({
  permission: "bash_write",
  patterns: [call.command.trim()],
  always: [],
  metadata: { ...metadata, reason: `Git would replace protected files: ${files.slice(0, 10).join(", ")}.` },
  protected: true
})

const readingByDefault = (path: string): Action => evaluate(defaultRules, "read", path) ?? "ask"

/** The permission that a call of `bash` needs, and the absolute paths that it may change once it has that. */
export interface BashAsks {
  readonly asks: ReadonlyArray<PermissionAsk>
  /** Files that it writes, and directories outside in which it works. */
  readonly approved: ReadonlyArray<string>
  /** Other paths outside, except those that it only reads. */
  readonly reached: ReadonlyArray<string>
}

/** Decides that for one call. */
export const bashAsks = Effect.fnUntraced(function*(
  { look, paths, programPath, replaces, tracked }: {
    readonly paths: typeof Paths.Service
    readonly look: LookAtRepository
    readonly replaces: Effect.Effect.Success<ReturnType<typeof makeGitReplaces>>
    readonly tracked: TrackedNames
    /** Where a command looks for programs. */
    readonly programPath?: string | undefined
  },
  call: BashCall,
  caller: ToolCaller
) {
  const line = takeApart(call.command)
  const metadata = { command: call.command, description: call.description }
  const places: Places = yield* makePlaces(paths, caller, line.moves ?? { to: [], sure: false })
  const read = withScripts(line, places.directories.map((each) => resolve(caller.directory, each)))
  const known = withTreePrograms(read, places, caller.directory, programPath)
  const reading = caller.reading ?? readingByDefault
  const editing = caller.editing ?? (() => "allow")
  const checked = yield* withRepositories(known, places, caller.directory, look)
  const { collected, parts, read: byGit } = yield* withGitReads(checked, places, caller.directory, tracked, reading)
  const replaced = yield* replaces(parts.invocations, places, caller.directory, (path) => {
    const byEditing = editing(path)
    return byEditing === "deny" ? byEditing : reading(path)
  })
  const forbidden = [...replaced.keys()].filter((path) => editing(path) === "deny")
  const touched = yield* touch(places, parts, call.command, caller.directory, { reading, editing })
  const changed = [...touched.changed.values()]
  const outside = [...touched.outside.values()].filter(({ real }) => !touched.changed.has(real))
  const external = outside.flatMap((target) =>
    lookAsks("read", target, { pattern: target.shown, directory: isDirectory(target.real), metadata }).filter((
      { permission }
    ) => permission === "external_directory")
  )
  const reads = [...new Set([...touched.read, ...byGit])]
  const searched = [...new Set([...touched.searched, ...collected])].filter((path) => !reads.includes(path))
  const asks = [
    ...external,
    ...(forbidden.length === 0 ? [] : [{ permission: "edit", patterns: forbidden, always: [], metadata }]),
    ...(replaced.size === 0 ? [] : [replacingAsk(call, [...replaced.keys()], metadata)]),
    ...(reads.length === 0 ? [] : [{ permission: "read", patterns: reads, always: asRules(reads), metadata }]),
    ...(searched.length === 0 ? [] : [{
      permission: "read",
      patterns: searched,
      always: asRules(searched),
      metadata: { ...metadata, searched: true }
    }]),
    ...personalAsks(touched, metadata),
    ...actingAsks(changed, bashAsk(call, parts, touched, metadata), metadata)
  ]
  // If not everything is known, it must not become a rule.
  return {
    asks: parts.substitutes ? asks.map((ask) => ({ ...ask, always: [] })) : asks,
    approved: [
      ...changed.flatMap(({ real, shown }) => [real, resolve(caller.directory, shown)]),
      ...replaced.values(),
      ...touched.entered
    ],
    reached: [...touched.reached]
  } satisfies BashAsks
})
