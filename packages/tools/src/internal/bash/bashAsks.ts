/** Decides what permission a command line needs: for each program in it, and for the files that it reads, writes or names. */
import type { PermissionAsk, ToolCaller, ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import { resolve } from "node:path"
import type { Paths, Target } from "../../Paths.ts"
import { asRules, changeAsks, isOutside, lookAsks } from "../asks.ts"
import { mayBeProtected } from "../protectedNames.ts"
import { makeGlobs } from "./globs.ts"
import { offersFor } from "./offers.ts"
import { isStream, onlyReads, pathsOf, readsBelow, tellsContent, writesOperands } from "./operands.ts"
import type { Invocation, Parts } from "./parts.ts"
import { makePlaces, type Places } from "./places.ts"
import { takeApart } from "./takeApart.ts"
import { type Argument, plainWord } from "./words.ts"

interface BashCall {
  readonly command: string
  readonly description?: string | undefined
}

/** What a line does to files. */
class Touched {
  readonly changed = new Map<string, Target>()
  readonly outside = new Map<string, Target>()
  readonly read = new Set<string>()
  /** What outside may be changed by who does more than read, and the directories outside that the line goes to. */
  readonly reached = new Set<string>()
  readonly entered = new Set<string>()
  /** Patterns of commands that name what a person is asked for each time. */
  readonly guarded = new Set<string>()
  unclear: string | undefined

  doubt(reason: string): void {
    this.unclear ??= reason
  }

  looked(target: Target): void {
    if (isOutside(target)) this.outside.set(target.real, target)
  }
}

/** Asks for nothing where a path cannot be followed, but leaves the question open what it is. */
const targetsOf = (places: Places, touched: Touched, path: string) =>
  Effect.catchTag(places.of(path), "ToolError", ({ message }) => {
    touched.doubt(message)
    return Effect.succeed([])
  })

/** Finds what the patterns in words stand for; where that is looked for counts as looked at. */
const makeFound = (places: Places, touched: Touched) => {
  const globs = makeGlobs(places)
  const nothing = { paths: [], directories: [], whole: true }
  const known = new Map<string, ReadonlyArray<string>>()
  return (argument: Argument): Effect.Effect<ReadonlyArray<string>> => {
    const before = known.get(argument.source)
    if (argument.glob === undefined || before !== undefined) return Effect.succeed(before ?? [])
    return globs(argument.glob).pipe(
      Effect.catchTag("ToolError", ({ message }) => {
        touched.doubt(message)
        return Effect.succeed(nothing)
      }),
      Effect.map(({ directories, paths, whole }) => {
        if (!whole) touched.doubt(`${argument.source} may stand for more files than can be looked at.`)
        for (const directory of directories) touched.looked(directory)
        known.set(argument.source, paths)
        return paths
      })
    )
  }
}

const touch = (places: Places, parts: Parts) =>
  Effect.gen(function*() {
    const touched = new Touched()
    const found = makeFound(places, touched)
    const withFiles = Effect.fnUntraced(function*(invocation: Invocation) {
      const args: Array<Argument> = []
      const seen = new Set<string>()
      for (const argument of invocation.args) {
        args.push(argument)
        if (argument.glob === undefined || seen.has(argument.source)) continue
        seen.add(argument.source)
        const paths = yield* found(argument)
        const hidden = argument.glob.some(({ fits }) => fits !== undefined && mayBeProtected(fits))
        // A program takes what begins like an option for one.
        if (hidden || paths.some((path) => path.startsWith("-"))) touched.guarded.add(invocation.pattern)
        for (const path of paths) args.push(plainWord(path))
      }
      return { ...invocation, args }
    })
    for (const argument of parts.listed) yield* found(argument)
    for (const { text } of parts.tested) {
      if (text === "" || isStream(text)) continue
      for (const target of yield* targetsOf(places, touched, text)) touched.looked(target)
    }
    for (const { target, writes } of parts.opened) {
      if (!target.fixed) touched.doubt(`${target.source} is not known before it is opened.`)
      if (/^\/dev\/(?:tcp|udp)\//.test(target.text)) touched.doubt(`${target.text} is a connection.`)
      if (isStream(target.text)) continue
      for (const each of yield* targetsOf(places, touched, target.text)) {
        if (writes) touched.changed.set(each.real, each)
        else {
          touched.looked(each)
          touched.read.add(each.shown)
        }
      }
    }
    for (const target of places.visited) {
      touched.looked(target)
      if (target.place === "outside") touched.entered.add(target.real)
      if (target.protected) touched.changed.set(target.real, target)
    }
    for (const invocation of parts.invocations) {
      if (places.tooMany()) break
      const given = invocation.args.some(({ glob }) => glob !== undefined) ? yield* withFiles(invocation) : invocation
      for (const path of pathsOf(given)) {
        for (const target of yield* targetsOf(places, touched, path)) {
          touched.looked(target)
          const isRead = onlyReads(invocation) || path === invocation.program
          if (target.place === "outside" && !isRead) touched.reached.add(target.real)
          if (target.shown.startsWith("~")) touched.doubt(`${path} leads to a home that is not known.`)
          if (target.protected && onlyReads(invocation)) touched.guarded.add(invocation.pattern)
          else if (target.protected || writesOperands(invocation)) touched.changed.set(target.real, target)
          if (!tellsContent(invocation) || target.place !== "inside") continue
          touched.read.add(target.shown)
          if (readsBelow(invocation)) touched.read.add(`${target.shown}/.env`)
        }
      }
      if (readsBelow(invocation)) touched.read.add(".env")
    }
    if (places.tooMany()) touched.doubt("It names more files than can be looked at.")
    return touched
  })

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
    also: [...also, call.command.trim()],
    ...(unclear === undefined ? {} : { unclear: true }),
    always: unclear === undefined ? offersFor(parts) : [],
    metadata: reasons.length === 0 ? metadata : { ...metadata, reasons: [...new Set(reasons)].slice(0, 8) }
  }
}

/** What a call of `bash` needs permission for, and what it may change once it has that: absolute paths. */
export interface BashAsks {
  readonly asks: ReadonlyArray<PermissionAsk>
  /** Files that it writes, and directories outside that it works in. */
  readonly approved: ReadonlyArray<string>
  /** Other paths outside, except those that it only reads. */
  readonly reached: ReadonlyArray<string>
}

/** Decides that for one call. */
export const bashAsks = Effect.fnUntraced(function*(paths: typeof Paths.Service, call: BashCall, caller: ToolCaller) {
  const parts = takeApart(call.command)
  const metadata = { command: call.command, description: call.description }
  const places: Effect.Effect<Places, ToolError> = makePlaces(
    paths,
    call,
    caller,
    parts.moves ?? { to: [], sure: false }
  )
  const touched = yield* touch(yield* places, parts)
  const changed = [...touched.changed.values()]
  const outside = [...touched.outside.values()].filter(({ real }) => !touched.changed.has(real))
  const external = outside.flatMap((target) =>
    lookAsks("read", target, { pattern: target.shown, directory: false, metadata }).filter(({ permission }) =>
      permission === "external_directory"
    )
  )
  const read = [...touched.read]
  const asks = [
    ...external,
    ...(changed.length === 0 ? [] : changeAsks(changed, { metadata })),
    ...(read.length === 0 ? [] : [{ permission: "read", patterns: read, always: asRules(read), metadata }]),
    bashAsk(call, parts, touched, metadata)
  ]
  // What is not all known must not become a rule.
  return {
    asks: parts.substitutes ? asks.map((ask) => ({ ...ask, always: [] })) : asks,
    approved: [...changed.flatMap(({ real, shown }) => [real, resolve(caller.directory, shown)]), ...touched.entered],
    reached: [...touched.reached]
  } satisfies BashAsks
})
