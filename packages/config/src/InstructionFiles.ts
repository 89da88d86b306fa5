/**
 * Finds and reads the instruction files for a directory: AGENTS.md, CLAUDE.md and `.claude/rules` up the tree, and those
 * that the config names. Of a project's files, it reads those that the user's rules for `read` allow.
 */
import * as FileSystem from "@effect/platform/FileSystem"
import { makeTimedCache } from "@skein/core/Fibers"
import { Instructions } from "@skein/core/Instructions"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { basename, dirname, join, relative } from "node:path"
import { type ConfigIssue, formatIssue } from "./ConfigError.ts"
import { DataDirs } from "./DataDirs.ts"
import { filesOf } from "./internal/instructionPaths.ts"
import {
  type Grants,
  isThere,
  mainTree,
  noGrants,
  placesOf,
  type ProjectFiles,
  projectFiles
} from "./internal/projectFiles.ts"
import { listMarkdown, readText } from "./internal/readText.ts"
import type { Origin } from "./internal/sourced.ts"
import type { TrustItem } from "./TrustItem.ts"

/** An included file. */
interface Include {
  readonly name: string
  /** Its place, counted from 1. */
  readonly line: number
}

/** The maximum number of includes. */
const most = 100

/** The includes of a text, in order. */
const includesOf = (text: string): ReadonlyArray<Include> => {
  const found: Array<Include> = []
  let fence: string | undefined
  for (const [index, written] of text.split("\n").entries()) {
    const mark = /^\s*(`{3,}|~{3,})/.exec(written)?.[1]?.[0]
    if (mark !== undefined && (fence === undefined || fence === mark)) {
      fence = fence === undefined ? mark : undefined
      continue
    }
    if (fence !== undefined) continue
    for (const [, name = ""] of written.replaceAll(/`[^`]*`/g, " ").matchAll(/(?:^|\s)@([\w~./][^\s@]*)/g)) {
      // A full stop may follow the name.
      found.push({ name: name.replace(/[.,;:!?)\]]+$/, ""), line: index + 1 })
    }
  }
  return found.filter(({ name }) => name !== "").slice(0, most)
}

/** The maximum characters of one file and of all together, and the maximum depth of includes. */
export const bounds = { file: 40_000, all: 120_000, depth: 5 } as const

/** In each directory, the first existing one is used. */
const names = ["AGENTS.md", "CLAUDE.md", join(".claude", "CLAUDE.md")] as const

/** What configures or instructs agents, of Skein and of other programs. */
const known = [
  ...names,
  "skein.json",
  "skein.jsonc",
  ".skein",
  ".agents",
  ".claude",
  ".mcp.json",
  ".opencode",
  "opencode.json",
  "opencode.jsonc"
]

/** How long the content is cached, in milliseconds. */
const fresh = 5_000

/** The instructions of a directory. */
export interface LoadedInstructions {
  /** The text for the system prompt; undefined if there is none. */
  readonly text: string | undefined
  /** The files that it consists of, in order. */
  readonly files: ReadonlyArray<string>
  /** The files that are not read, or not completely, and why. */
  readonly warnings: ReadonlyArray<ConfigIssue>
  /** The files that the user's rules ask about, trusted or not; see `Trust`. */
  readonly widenings: ReadonlyArray<TrustItem>
}

interface Section {
  readonly path: string
  readonly text: string
}

const heading =
  "Instructions of this project and its user for everyone who works here. If two of them contradict each other, follow the later one."

const shown = ({ path, text }: Section, directory: string): string => {
  const below = relative(directory, path)
  const from = below.startsWith("../../") ? path : below
  return `<instructions from="${from.replaceAll("\"", "&quot;")}">\n${
    text.replaceAll(/<(?=\/?instructions\b)/gi, "&lt;")
  }\n</instructions>`
}

/** What a rule of Claude Code says: the text of one for all files, or when to read one for some. */
const ruleText = Effect.fnUntraced(function*(whole: string) {
  const { readMatter } = yield* Effect.promise(() => import("./internal/foreign.ts"))
  const { body, entries } = yield* readMatter(whole)
  const written = entries.find(({ key }) => key === "paths")?.value
  if (written === undefined || written.kind === "null") return body.trim()
  const paths = written.kind === "array" ? written.items : [written]
  const named = paths.flatMap((path) => path.kind === "string" ? [`\`${path.value}\``] : [])
  return named.length < paths.length
    ? undefined
    : `This file has rules for files that match ${named.join(" or ")}. Read it before you work on such a file.`
})

/** Reads instruction files one after the other, each once, as long as there is room. */
const makeReader = Effect.fnUntraced(function*(files: ProjectFiles) {
  const fs = yield* FileSystem.FileSystem
  const { config, home } = yield* DataDirs
  const isBelow = (path: string, top: string): boolean => !relative(top, path).startsWith("..")
  const main = yield* mainTree(files.root)
  const tops = main === undefined ? [files.root] : [files.root, main]
  // The user's own directory may be in the project, such as a home that git tracks.
  const isTheirs = (path: string): boolean =>
    tops.some((top) => isBelow(path, top) && !(isBelow(config, top) && isBelow(path, config)))
  const sections: Array<Section> = []
  const warnings: Array<ConfigIssue> = []
  const seen = new Set<string>()
  let left: number = bounds.all

  const warn = (file: string, message: string, line?: number) => {
    warnings.push({ file, ...(line === undefined ? {} : { line }), message })
  }

  /** The text of one file; `by` names it, unless everybody knows it. */
  const read = Effect.fnUntraced(function*(path: string, by?: Origin) {
    const real = yield* Effect.orElseSucceed(fs.realPath(path), () => path)
    // A file is included once, even if it includes itself or two files include it.
    if (seen.has(real)) return ""
    seen.add(real)
    const refusal = isTheirs(path) ? yield* files.refusal(path, by) : undefined
    const text = refusal === undefined ? yield* Effect.either(readText(path)) : Either.left({ message: refusal })
    if (Either.isRight(text)) return text.right.replaceAll("\r\n", "\n").trim()
    const { line, message } = { line: undefined, ...text.left }
    warn(path, `these instructions are not read: ${message}`, line)
    return ""
  })

  /** Adds as much of a text as there is room for. */
  const put = (path: string, whole: string): string => {
    if (whole === "") return ""
    const room = Math.min(bounds.file, left)
    const text = whole.length <= room ? whole : `${whole.slice(0, room).toWellFormed()}\n[cut here]`
    if (whole.length > room) {
      warn(
        path,
        `only the first ${room} of ${whole.length} characters are read (${bounds.file} of a file, ${bounds.all} of all); shorten it`
      )
    }
    left -= Math.min(whole.length, room)
    sections.push({ path, text })
    return text
  }

  const add = (path: string, by?: Origin, depth = 0): Effect.Effect<void, never, FileSystem.FileSystem> =>
    Effect.gen(function*() {
      const text = put(path, yield* read(path, by))
      if (basename(path) !== "CLAUDE.md" && depth === 0) return
      for (const { line, name } of includesOf(text)) {
        const included = name.startsWith("~/") ? join(home, name.slice(2)) : join(dirname(path), name)
        const target = name.startsWith("/") ? name : included
        // This may be a package name or a person's name instead of an include.
        const info = yield* Effect.option(fs.stat(target))
        if (info._tag === "None" || info.value.type !== "File") continue
        if (isTheirs(path) && !isTheirs(target)) {
          warn(path, `@${name} is not read: a project's file may not read files outside of the project`, line)
        } else if (depth + 1 > bounds.depth) {
          warn(path, `@${name} is not read: files include each other ${bounds.depth} levels deep at most`, line)
        } else yield* add(target, { name: path, line }, depth + 1)
      }
    })

  const addRules = Effect.fnUntraced(function*(top: string) {
    if (!(yield* isThere(top))) return
    for (const { path } of yield* listMarkdown(top, { deep: true, what: "rule", seen: new Set(), issues: warnings })) {
      const text = yield* ruleText(yield* read(path))
      if (text === undefined) warn(path, "these instructions are not read: paths must be a list of patterns")
      else put(path, text)
    }
  })

  return { add, addRules, isTheirs, sections, warnings }
})

/**
 * Reads the instructions for a directory; `named` are absolute paths from the config, wildcards included. `grants` are
 * those of the loaded config.
 */
export const load = Effect.fn("InstructionFiles.load")(function*(
  directory: string,
  named: ReadonlyArray<string>,
  grants: Grants = noGrants
) {
  const { config, data } = yield* DataDirs
  const places = yield* placesOf(directory, config)
  const here = places.project.at(-1) ?? directory
  // Without a git root the top of the project is unknown.
  const files = projectFiles({ root: places.root ?? here, directory: here, data, grants })
  const { add, addRules, isTheirs, sections, warnings } = yield* makeReader(files)
  const own = join(config, "AGENTS.md")
  const addNamed = (patterns: ReadonlyArray<string>) =>
    Effect.forEach(patterns, (pattern) =>
      Effect.flatMap(filesOf(pattern), (found) => {
        if (found.length === 0) warnings.push({ file: pattern, message: "no file matches (instructions)" })
        return Effect.forEach(found, (path) => add(path, { name: path }))
      }))
  if (yield* isThere(own)) yield* add(own)
  // The user's come first: a project that fills the room does not drop them.
  yield* addNamed(named.filter((path) => !isTheirs(path)))
  for (const place of places.root === undefined ? [here] : places.project) {
    for (const name of names) {
      if (!(yield* isThere(join(place, name)))) continue
      yield* add(join(place, name))
      break
    }
    yield* addRules(join(place, ".claude", "rules"))
  }
  yield* addNamed(named.filter(isTheirs))
  return {
    text: sections.length === 0
      ? undefined
      : [heading, ...sections.map((section) => shown(section, here))].join("\n\n"),
    files: sections.map(({ path }) => path),
    warnings,
    widenings: files.asked
  } satisfies LoadedInstructions
})

/** Whether no file for agents is in a directory, or above it up to its git root. */
export const isBare = Effect.fn("InstructionFiles.isBare")(function*(directory: string) {
  const dirs = yield* DataDirs
  const { project } = yield* placesOf(directory, dirs.config)
  for (const place of project) {
    for (const name of known) if (yield* isThere(join(place, name))) return false
  }
  return true
})

/** Instructions from files, read again after some seconds, so that changes need no restart. */
export const layer = (
  named: ReadonlyArray<string>,
  grants: Grants = noGrants
): Layer.Layer<Instructions, never, DataDirs | FileSystem.FileSystem> =>
  Layer.effect(
    Instructions,
    Effect.gen(function*() {
      const context = yield* Effect.context<DataDirs | FileSystem.FileSystem>()
      const reported = new Set<string>()
      const of = yield* makeTimedCache({
        capacity: 256,
        timeToLive: fresh,
        lookup: (directory: string) =>
          Effect.gen(function*() {
            const { text, warnings } = yield* load(directory, named, grants)
            for (const issue of warnings.map(formatIssue)) {
              if (reported.has(issue)) continue
              reported.add(issue)
              yield* Effect.annotateLogs(Effect.logWarning("Instructions", issue), "notice", true)
            }
            return text
          }).pipe(Effect.provide(context))
      })
      return { of, isBare: (directory: string) => Effect.provide(isBare(directory), context) }
    })
  )
