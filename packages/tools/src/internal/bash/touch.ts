/** Finds the files that a line reads, changes or names, what it removes, moves or copies, and its paths outside. */
import * as Wildcard from "@skein/core/Ruleset"
import type { ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import { posix, relative, resolve } from "node:path"
import type { Target } from "../../Paths.ts"
import { attempt, isDirectory, isIn, lstatOf, realOf } from "../disk.ts"
import type { Named } from "../programs/programs.ts"
import { isProtected, mayBeProtected } from "../protectedNames.ts"
import { isMistake } from "../refusal.ts"
import { filesOf, isStream, mayWrite, opensUnnamed, pathsOf, type ReadBelow, writesOperands } from "./callFiles.ts"
import { gitCall } from "./gitCall.ts"
import type { Invocation, Parts } from "./parts.ts"
import {
  anything,
  joined,
  type Looking,
  makeGlobs,
  makeTreeFiles,
  packageDirectories,
  type Places,
  targetsOf,
  textsOf,
  Touched
} from "./places.ts"
import { type Argument, plainWord } from "./words.ts"

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

const noChanges: Changes = { itself: [], sources: [], into: [], takes: false, deep: true }

const copying = new Set(["cp", "ln", "mv"])

const ofGit = (invocation: Invocation, operands: ReadonlyArray<Place>): Changes => {
  switch (gitCall(invocation.args).sub) {
    case "rm":
      return { ...noChanges, itself: operands }
    case "mv":
      return { ...noChanges, sources: operands.slice(0, -1), into: operands.slice(-1), takes: true }
    case "checkout":
    case "clean":
    case "restore":
      return { ...noChanges, itself: operands, deep: false }
    default:
      return noChanges
  }
}

const changesOf = (invocation: Invocation): Changes => {
  const { call, program } = invocation
  if (call === undefined || invocation.reads) return noChanges
  const of = (kinds: ReadonlyArray<Named<Argument>["kind"]>) => call.named.filter(({ kind }) => kinds.includes(kind))
  if (program === "git") {
    const inside = gitCall(invocation.args).directories.map(({ text }) => text)
    const places = of(["git", "look"]).map(({ text, word }) => ({ text: posix.join(...inside, text), word }))
    return ofGit(invocation, places)
  }
  if (!copying.has(program)) return { ...noChanges, itself: of(["write", "pack"]) }
  return { ...noChanges, sources: of(["read", "below"]), into: of(["write"]), takes: program === "mv" }
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
const written = (looking: Looking, target: Target): void => {
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
const change = Effect.fnUntraced(function*(looking: Looking, invocation: Invocation) {
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
const writesElsewhere = ({ args, program, reads }: Invocation, word: Argument): boolean => {
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
const changeElsewhere = Effect.fnUntraced(function*(
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

/** Finds the matches of patterns in words. The searched directories count as read. */
const makeFound = (places: Places, touched: Touched) => {
  const globs = makeGlobs(places)
  const nothing = { paths: [], directories: [], whole: true }
  const known = new Map<string, ReadonlyArray<string>>()
  const found = (argument: Argument): Effect.Effect<ReadonlyArray<string>, ToolError> => {
    if (argument.choices !== undefined) {
      return Effect.map(
        Effect.forEach(argument.choices, (each) => each.fixed ? Effect.succeed([each.text]) : found(each)),
        (paths) => paths.flat()
      )
    }
    const before = known.get(argument.source)
    if (argument.glob === undefined || before !== undefined) return Effect.succeed(before ?? [])
    return globs(argument.glob).pipe(
      Effect.catchIf(isMistake, ({ message }) => {
        touched.doubt(message)
        return Effect.succeed(nothing)
      }),
      Effect.map(({ directories, paths, whole }) => {
        if (!whole) touched.doubt(`${argument.source} may stand for more files than can be looked at.`)
        for (const directory of directories) touched.searches(places, directory)
        known.set(argument.source, paths)
        return paths
      })
    )
  }
  return found
}

/** The words of a call, with each pattern followed by its matches. */
const withFiles = Effect.fnUntraced(function*(
  invocation: Invocation,
  touched: Touched,
  found: (argument: Argument) => Effect.Effect<ReadonlyArray<string>, ToolError>
) {
  const args: Array<Argument> = []
  const seen = new Set<string>()
  for (const argument of invocation.args) {
    args.push(argument)
    if (argument.fixed || seen.has(argument.source)) continue
    seen.add(argument.source)
    const paths = yield* found(argument)
    const globs = [argument, ...argument.choices ?? []].flatMap(({ glob = [] }) => glob)
    const hidden = globs.some(({ fits }) => fits !== undefined && mayBeProtected(fits))
    // A program takes a word that looks like an option for one.
    if (hidden || paths.some((path) => /^[-+]/.test(path))) touched.guarded.add(invocation.pattern)
    for (const path of paths) args.push(plainWord(path))
  }
  return { ...invocation, args }
})

/** Names that the shell splits, or a program takes for an option. */
const isStrangeName = (path: string): boolean => /[\s*?[\]{}\\'"]|^[-+]/.test(path)

/** Checks what is read below a directory, if rules may apply to files in it. */
const below = Effect.fnUntraced(function*(
  looking: Looking,
  { pattern }: Invocation,
  each: ReadBelow,
  targets: ReadonlyArray<Target>
) {
  const { touched } = looking
  for (const target of targets) {
    if (target.place === "spill") continue
    const { real, shown } = target
    if (target.place === "inside" || looking.reading(shown) !== "allow") touched.read.add(shown)
    const tree = yield* looking.treeFiles(real, { hidden: each.hidden, packages: true })
    if (tree === undefined) touched.unchecked(target)
    const links = new Set(tree?.links)
    for (const file of tree?.files ?? []) {
      const path = joined(shown, file)
      if (each.given && !each.all && /(?:^|\/)\.git\//.test(path)) continue
      if (!each.whole && isStrangeName(file)) touched.doubt(`${file} may be taken for more than the name of a file.`)
      const name = file.slice(file.lastIndexOf("/") + 1)
      if (each.names.length > 0 && !each.names.some((one) => Wildcard.glob(one, name))) continue
      if (looking.reading(path) !== "allow") touched.searched.add(path)
      if (!each.given && each.follows !== true) continue
      if (each.given && isProtected(path)) touched.guarded.add(pattern)
      if (!links.has(file)) continue
      for (const led of yield* targetsOf(looking.places, touched, `${real}/${file}`)) {
        touched.looked(led)
        if (led.place === "inside" || looking.reading(led.shown) !== "allow") touched.read.add(led.shown)
      }
    }
  }
})

const invoked = Effect.fnUntraced(function*(looking: Looking, invocation: Invocation) {
  const given = invocation.args.some(({ choices, glob }) => glob !== undefined || choices !== undefined)
    ? yield* withFiles(invocation, looking.touched, looking.found)
    : invocation
  const { below: directories, named } = filesOf(invocation.call === undefined ? given : invocation)
  for (const { tells, text, word } of named) {
    for (const path of yield* textsOf(looking, text, word)) {
      for (const target of yield* targetsOf(looking.places, looking.touched, path)) {
        if (tells === false) looking.touched.looked(target)
        else looking.touched.searches(looking.places, target)
        const isRead = invocation.reads || path === invocation.program
        if (target.place === "outside" && !isRead) looking.touched.reached.add(target.real)
        if (target.shown.startsWith("~")) looking.touched.doubt(`${path} leads to a home that is not known.`)
        if (target.protected && invocation.reads) looking.touched.guarded.add(invocation.pattern)
        else if (
          target.protected || writesOperands(invocation) ||
          (target.place === "outside" && writesElsewhere(invocation, word))
        ) looking.touched.changed.set(target.real, target)
        else if (mayWrite(invocation, word)) written(looking, target)
        if (target.place === "spill" || tells === false) continue
        // Files that are known to be read count as shown. Files that only may be read count if rules apply to them.
        const isShown = target.place === "inside" && tells === true
        if (isShown || looking.reading(target.shown) !== "allow") looking.touched.read.add(target.shown)
      }
    }
  }
  for (const each of directories) {
    for (const path of yield* textsOf(looking, each.directory, each.word)) {
      const targets = yield* targetsOf(looking.places, looking.touched, path)
      for (const target of targets) looking.touched.searches(looking.places, target)
      yield* below(looking, invocation, each, targets)
    }
  }
  yield* change(looking, given)
  if (collectors.test(invocation.program)) yield* collected(looking, invocation)
})

/** Programs that pack, copy or search all that is below a directory. */
const collectors =
  /^(?:7z|7za|7zr|ack|ar|bsdtar|cpio|gtar|pax|pt|rar|rclone|rga|rsync|scp|sift|star|tar|ucg|ug|ugrep|zip)$/

/** What such a call may read: below the directories that it names, or else below the one in which it runs. */
const collected = Effect.fnUntraced(
  function*({ places, reading, touched, treeFiles }: Looking, invocation: Invocation) {
    const unpacks = invocation.program.endsWith("tar") &&
      invocation.args.some(({ text }, at) =>
        at === 0 && /^-?[a-zA-Z]*[xt]/.test(text) || /^(?:--extract|--list|-[a-zA-Z]*[xt])/.test(text)
      )
    if (unpacks) return
    const tops = new Map<string, Target>()
    for (const text of [...pathsOf(invocation).map((each) => each.text), "."]) {
      if (text === "." && tops.size > 0) continue
      for (const target of yield* targetsOf(places, touched, text)) {
        if (target.place !== "spill" && isDirectory(target.real)) tops.set(target.real, target)
      }
    }
    for (const target of tops.values()) {
      const tree = yield* treeFiles(target.real, { hidden: true, packages: false })
      if (tree === undefined) touched.unchecked(target)
      for (const path of (tree?.files ?? []).map((file) => joined(target.shown, file))) {
        if (reading(path) !== "allow") touched.searched.add(path)
      }
    }
  }
)

/** Whether a call may open what its arguments do not name as such: in code, in a list of arguments, in a variable. */
const mayOpenMore = ({ call, program, reads, runs }: Invocation): boolean =>
  !reads && program !== "export" && (call === undefined || call.unknown !== undefined || runs === true)

/** How many words of a line are checked. */
const mostMentioned = 500

/**
 * Finds what a rule does not let be read, and the text of a line names anywhere. Where a program may open more than its
 * arguments say, that counts as read.
 */
const mentioned = Effect.fnUntraced(function*({ places, reading, touched }: Looking, text: string, top: string) {
  const words = text.replaceAll(/\$(?:HOME\b|\{HOME\})/g, "~").split(/[^\p{L}\p{N}_./%+~-]+/u).flatMap((word) => [
    word,
    word.replace(/^-+[A-Za-z]?/, "")
  ])
  const tree = realOf(top)
  const named = [...new Set(words)].filter((each) => /[^./~]/.test(each)).slice(0, mostMentioned)
  const inHome = yield* Effect.forEach(
    named.filter((each) => each.startsWith("~/")),
    (each) => targetsOf(places, touched, each)
  )
  const all = [
    ...places.directories.flatMap((each) => named.map((word) => resolve(each === "" ? tree : each, word))),
    ...inHome.flat().map(({ real }) => real)
  ]
  for (const each of all) {
    const stat = attempt(() => lstatOf(each), undefined)
    if (stat === undefined) continue
    for (const path of new Set([each, realOf(each)])) {
      const name = isIn(path, tree) ? relative(tree, path) : path
      const isDenied = name !== "" && reading(stat.isDirectory() ? `${name}/${anything}` : name) === "deny"
      if (isDenied) touched.searched.add(stat.isDirectory() ? `${name}/*` : name)
    }
  }
})

/** Finds out what a line does to files. `reading` and `editing` give the rule for a path. */
export const touch = (
  places: Places,
  parts: Parts,
  line: string,
  top: string,
  { editing, reading }: Pick<Looking, "editing" | "reading">
) =>
  Effect.gen(function*() {
    const touched = new Touched()
    const found = makeFound(places, touched)
    const looking: Looking = { places, touched, found, treeFiles: makeTreeFiles(), reading, editing }
    for (const argument of parts.listed) yield* found(argument)
    for (const { text } of parts.tested) {
      if (text === "" || isStream(text)) continue
      for (const target of yield* targetsOf(places, touched, text)) touched.looked(target)
    }
    for (const { target, writes } of parts.opened) {
      if (!target.fixed) touched.doubt(`${target.source} is not known before it is opened.`)
      if (/^\/dev\/(?:tcp|udp)\//.test(target.text)) touched.doubt(`${target.text} is a connection.`)
      if (isStream(target.text)) continue
      for (const path of yield* textsOf(looking, target.text, target)) {
        for (const each of yield* targetsOf(places, touched, path)) {
          if (writes) touched.changed.set(each.real, each)
          else {
            touched.looked(each)
            touched.read.add(each.shown)
          }
        }
      }
    }
    for (const target of places.visited) {
      touched.looked(target)
      if (target.place === "outside") touched.entered.add(target.real)
      if (target.protected) touched.changed.set(target.real, target)
    }
    const lists = parts.invocations.some(({ args }) => args.some(({ output }) => output?.kind === "paths"))
    if (lists && (parts.opened.some(({ writes }) => writes) || !parts.invocations.every(({ reads }) => reads))) {
      touched.doubt("It may change which files there are before it lists them.")
    }
    for (const invocation of parts.invocations) {
      if (places.tooMany()) break
      yield* invoked(looking, invocation)
    }
    if (parts.unclear !== undefined || parts.invocations.some(mayOpenMore)) {
      yield* mentioned(looking, line, top)
    }
    touched.opens ||= parts.invocations.some(opensUnnamed)
    yield* changeElsewhere(looking, parts, line)
    if (places.tooMany()) touched.doubt("It names more files than can be looked at.")
    return touched
  })
