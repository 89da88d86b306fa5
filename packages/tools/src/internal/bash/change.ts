/** Finds out what a call removes, moves or copies, and whether rules or protected names apply to anything in it. */
import * as Effect from "effect/Effect"
import { posix } from "node:path"
import type { Target } from "../../Paths.ts"
import { lstatOf } from "../disk.ts"
import type { Named } from "../programs/readCall.ts"
import { isProtected } from "../protectedNames.ts"
import { gitCall } from "./gitCall.ts"
import type { Invocation, Parts } from "./parts.ts"
import { anything, joined, type Looking, packageDirectories, targetsOf, textsOf } from "./touched.ts"
import type { Argument } from "./words.ts"

interface Place {
  readonly text: string
  readonly word: Argument
}

/** The changes of a call. */
interface Changes {
  /** What is changed in place, including everything below it. */
  readonly itself: ReadonlyArray<Place>
  /** What is copied or moved, and where to. */
  readonly sources: ReadonlyArray<Place>
  readonly into: ReadonlyArray<Place>
  readonly takes: boolean
  /**
   * Whether protected names below are changed with the rest. Git protects its own directory, and only writes files that
   * it tracks.
   */
  readonly deep: boolean
}

const nothing: Changes = { itself: [], sources: [], into: [], takes: false, deep: true }

const copying = new Set(["cp", "ln", "mv"])

const ofGit = (invocation: Invocation, operands: ReadonlyArray<Place>): Changes => {
  switch (gitCall(invocation.args).sub) {
    case "rm":
      return { ...nothing, itself: operands }
    case "mv":
      return { ...nothing, sources: operands.slice(0, -1), into: operands.slice(-1), takes: true }
    case "checkout":
    case "clean":
    case "restore":
      return { ...nothing, itself: operands, deep: false }
    default:
      return nothing
  }
}

const changesOf = (invocation: Invocation): Changes => {
  const { call, program } = invocation
  if (call === undefined || invocation.reads) return nothing
  const of = (kinds: ReadonlyArray<Named<Argument>["kind"]>) => call.named.filter(({ kind }) => kinds.includes(kind))
  if (program === "git") {
    const inside = gitCall(invocation.args).directories.map(({ text }) => text)
    const places = of(["git", "look"]).map(({ text, word }) => ({ text: posix.join(...inside, text), word }))
    return ofGit(invocation, places)
  }
  if (!copying.has(program)) return { ...nothing, itself: of(["write", "pack"]) }
  return { ...nothing, sources: of(["read", "below"]), into: of(["write"]), takes: program === "mv" }
}

/** How many files of a directory a question lists. */
const mostTold = 20

/** The files below a target, by their paths in it; none if it is not a directory. */
const filesBelow = Effect.fnUntraced(function*({ touched, treeFiles }: Looking, target: Target) {
  if (packageDirectories.has(posix.basename(target.real))) return []
  const tree = yield* treeFiles(target.real, { hidden: true, packages: false })
  if (tree === undefined) touched.unchecked(target)
  return tree?.files ?? []
})

const noted = ({ editing, touched }: Looking, target: Target): void => {
  if (target.protected || editing(target.shown) !== "allow") touched.changed.set(target.real, target)
}

/** Records what a program writes to, where Skein cannot tell the names that it makes in a directory. */
export const written = (looking: Looking, target: Target): void => {
  noted(looking, target)
  const isDenied = looking.editing(joined(target.shown, anything)) === "deny"
  if (!isDenied || lstatOf(target.real)?.isDirectory() !== true) return
  const below = { ...target, real: `${target.real}/*`, shown: joined(target.shown, "*") }
  looking.touched.changed.set(below.real, below)
}

/** Records the files of a directory to which edit rules apply, at their current or future places. */
const notedBelow = (looking: Looking, top: Target, files: ReadonlyArray<string>): void => {
  let told = 0
  for (const file of files) {
    const shown = joined(top.shown, file)
    if (looking.editing(shown) === "allow") continue
    if (++told > mostTold) return
    const real = `${top.real}/${file}`
    looking.touched.changed.set(real, { real, shown, place: top.place, protected: false, linked: false })
  }
}

const guardedBelow = (
  { touched }: Looking,
  { pattern }: Invocation,
  top: Target,
  files: ReadonlyArray<string>
): void => {
  if (files.some((file) => isProtected(joined(top.shown, file)) || isProtected(file))) touched.guarded.add(pattern)
}

const targetsIn = Effect.fnUntraced(function*(looking: Looking, { text, word }: Place) {
  const found: Array<Target> = []
  for (const path of yield* textsOf(looking, text, word)) {
    found.push(...(yield* targetsOf(looking.places, looking.touched, path)))
  }
  return found.filter(({ place }) => place !== "spill")
})

/** What is copied or moved from one place to another. */
const carried = Effect.fnUntraced(function*(
  looking: Looking,
  invocation: Invocation,
  source: Target,
  into: Place,
  takes: boolean
) {
  const files = yield* filesBelow(looking, source)
  const name = source.shown === "." ? "" : posix.basename(source.shown)
  const ends: Array<Target> = []
  for (const path of yield* textsOf(looking, into.text, into.word)) {
    for (const end of [path, joined(path.replace(/(?<=[^/])\/+$/, ""), name)]) {
      ends.push(...(yield* targetsOf(looking.places, looking.touched, end)))
    }
  }
  // Outside, only names that rules speak of matter.
  if ([source, ...ends].some(({ place }) => place === "inside")) guardedBelow(looking, invocation, source, files)
  for (const end of ends.filter(({ place }) => place !== "spill")) {
    noted(looking, end)
    notedBelow(looking, end, files)
  }
  if (!takes) return
  noted(looking, source)
  notedBelow(looking, source, files)
  // It might be readable under its new name, so moving it counts as reading it.
  if (looking.reading(source.shown) !== "allow") looking.touched.searched.add(source.shown)
  const isFreed = (file: string) =>
    looking.reading(joined(source.shown, file)) !== "allow"
    && ends.some(({ shown }) => looking.reading(joined(shown, file)) === "allow")
  for (const file of files.filter(isFreed)) looking.touched.searched.add(joined(source.shown, file))
})

/** Records the changes of a call. */
export const change = Effect.fnUntraced(function*(looking: Looking, invocation: Invocation) {
  const { deep, into, itself, sources, takes } = changesOf(invocation)
  for (const place of itself) {
    for (const target of yield* targetsIn(looking, place)) {
      noted(looking, target)
      const files = yield* filesBelow(looking, target)
      notedBelow(looking, target, files)
      if (deep && target.place === "inside") guardedBelow(looking, invocation, target, files)
    }
  }
  for (const place of sources) {
    for (const source of yield* targetsIn(looking, place)) {
      for (const each of into) yield* carried(looking, invocation, source, each, takes)
    }
  }
})

/** Git commands whose operands name only what they read elsewhere. */
const fromElsewhere = /^(?:am|apply|commit|fetch|ls-remote|merge|pull|remote|submodule|tag)$/

/** The subcommand of a git call, where it stands, and the directories that options before it name. */
const gitWhere = (args: ReadonlyArray<Argument>) => {
  const named: Array<string> = []
  let at = 0
  for (; at < args.length; at++) {
    const text = args[at]?.text ?? ""
    const value = /^--(?:git-dir|work-tree)=(.*)$/s.exec(text)?.[1]
    if (value !== undefined) named.push(value)
    else if (/^(?:-C|--git-dir|--work-tree)$/.test(text)) named.push(args[++at]?.text ?? "")
    else if (/^(?:-c|--namespace|--config-env|--attr-source|--super-prefix)$/.test(text)) at++
    else if (!text.startsWith("-")) break
  }
  return { at, named, sub: args[at]?.text ?? "" }
}

/** Whether git may write to the place outside that a word of its call names. */
export const writesElsewhere = ({ args, program, reads }: Invocation, word: Argument): boolean => {
  if (program !== "git" || reads) return false
  const { at, sub } = gitWhere(args)
  const place = args.indexOf(word)
  if (place < at) return true
  const isSource = sub === "clone" && args.slice(at + 1).find(({ text }) => !text.startsWith("-")) === word
  return !fromElsewhere.test(sub) && !isSource
}

/** Variables that say where git writes. */
const gitVariables = /\bGIT_(?:DIR|WORK_TREE|COMMON_DIR|OBJECT_DIRECTORY|INDEX_FILE)=(["']?)([^\s"';&|)]+)\1/g

/** Records the repositories outside to which git calls write because they work there. */
export const changeElsewhere = Effect.fnUntraced(function*(
  { places, touched }: Looking,
  { invocations }: Pick<Parts, "invocations">,
  line: string
) {
  const calls = invocations.filter(({ program, reads }) => program === "git" && !reads)
  if (calls.length === 0) return
  const named = calls.flatMap(({ args, writes = [] }) => {
    const { named: all } = gitWhere(args)
    return [...all, ...all.length > 1 ? [posix.join(...all)] : [], ...writes]
  })
  const variables = [...line.matchAll(gitVariables)].map(([, , place = ""]) => place)
  for (const path of new Set([...named, ...variables])) {
    for (const target of path === "" ? [] : yield* targetsOf(places, touched, path)) {
      if (target.place === "outside") touched.changed.set(target.real, target)
    }
  }
  for (const target of places.visited) if (target.place === "outside") touched.changed.set(target.real, target)
})
