/** Finds the command files for a directory, reads them, and decides which one of a name wins. */
import type { CommandInfo, CommandList } from "@skein/core/Command"
import type { Settings } from "@skein/core/Config"
import { CommandConfig } from "@skein/domain/ConfigInfo"
import { parseRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dirname, join } from "node:path"
import type { ConfigIssue } from "./ConfigError.ts"
import type { ProviderCheck } from "./ConfigFiles.ts"
import { DataDirs } from "./DataDirs.ts"
import { isName, namesForOthers } from "./internal/agentFiles.ts"
import { checkShape } from "./internal/checkShape.ts"
import { issueIn } from "./internal/configContent.ts"
import { definedIn, type Definition, failed, lastOfEach, leftOut } from "./internal/definition.ts"
import {
  actionOf,
  asNote,
  entry,
  type Foreign,
  hasBlanks,
  hasPromptBlanks,
  isNothing,
  mayRestrict,
  parseForeign,
  readMatter,
  readModel,
  text,
  whyLeftOut,
  type WhyNot,
  wordOf
} from "./internal/foreign.ts"
import { readFront } from "./internal/frontMatter.ts"
import { type Fault, type Located, type LocatedEntry, plain, start } from "./internal/located.ts"
import { type Grants, isThere, noGrants, placesOf, type ProjectFiles, projectFiles } from "./internal/projectFiles.ts"
import { listMarkdown, readLenient } from "./internal/readText.ts"
import { record, type SourcedLeaf, valueAt } from "./internal/sourced.ts"
import type { TrustItem } from "./TrustItem.ts"

type CommandContent = Definition<CommandConfig>

/** A command of Skein in a config file. */
const commandAt = (file: string, name: string, value: Located): CommandContent => {
  const faults: ReadonlyArray<Fault> = isName(name)
    ? checkShape(CommandConfig.ast, value, ["command", name])
    : [{ at: value.at, message: `${JSON.stringify(name)} is not a valid command name; ${namesForOthers}` }]
  return faults.length > 0
    ? failed(name, file, faults.map(issueIn(file)))
    // The schema has validated it, so it has that type.
    : { name, origin: file, said: Either.right(plain(value) as CommandConfig), warnings: [] }
}

/** Reads a Markdown file, whose text is the template. */
const readCommandFile = Effect.fnUntraced(function*(file: string, name: string) {
  const wrong = (fault: Fault): CommandContent => failed(name, file, [issueIn(file)(fault)])
  const front = yield* Effect.either(readFront(file))
  if (Either.isLeft(front)) return failed(name, file, front.left)
  const { body: template, lines, tree } = front.right
  const at = { line: lines + 1, column: 1 }
  if (template === "") return wrong({ at, message: "there is no template; write the prompt below the front matter" })
  const second = tree.entries.find(({ key }) => key === "template")
  if (second !== undefined) {
    const message = "the text below the front matter is the template; keep one of them"
    return wrong({ at: second.at, key: "template", message })
  }
  const entries = [{ key: "template", at, value: { kind: "string" as const, at, value: template } }, ...tree.entries]
  return commandAt(file, name, { kind: "object", at: start, entries })
})

/** Keys that are ignored without a note, because Skein has no equivalent. */
const silent = new Set(["argumenthint", "disablemodelinvocation"])

/** The place of another tool's command. */
interface ForeignCommandSource {
  readonly file: string
  readonly name: string
  readonly foreign: Foreign
  /** The providers that its model may use. */
  readonly whyNot: WhyNot
}

/** The keys of such a command, translated to Skein's. */
const adapt = ({ foreign, whyNot }: ForeignCommandSource, written: ReadonlyArray<LocatedEntry>) => {
  const notes: Array<Fault> = []
  let refused: Fault | undefined
  const entries = written.flatMap((each): ReadonlyArray<LocatedEntry> => {
    const { at, key, value } = each
    const note = (message: string) => notes.push({ at, key, message: `${key}: ${message}` })
    const word = wordOf(key)
    const words = value.kind === "string" || value.kind === "number" ? String(plain(value)).trim() : ""
    switch (word) {
      case "template":
      case "description":
        if (words !== "") return [{ ...each, key: word, value: text(words, value.at) }]
        if (!isNothing(value)) note("this is not text")
        return []
      case "agent":
        if (foreign === "opencode" && words !== "") return [{ ...each, key: word, value: text(words, value.at) }]
        note("Skein ignores it")
        return []
      case "subtask": {
        const action = actionOf(value)
        if (foreign === "opencode" && (action === "allow" || action === "deny")) {
          return [{ ...each, key: word, value: { kind: "boolean", at: value.at, value: action === "allow" } }]
        }
        note("Skein ignores it")
        return []
      }
      case "model":
        return readModel(each, whyNot, (_, message) => note(message))
      case "allowedtools":
      case "tools":
        if (!isNothing(value)) note("a command allows nothing here; use permission in skein.json")
        return []
      default:
        if (mayRestrict(each)) {
          refused ??= { at, key, message: `${key}: ${whyLeftOut(key)}` }
        } else if (!silent.has(word)) note("Skein ignores it")
        return []
    }
  })
  return { entries, notes, refused }
}

/** A command in a config file. */
const foreignCommandAt = (source: ForeignCommandSource, value: Located): CommandContent => {
  const { file, name } = source
  const issueAt = issueIn(file)
  if (value.kind !== "object") {
    return leftOut("command", source, { ...value.at, message: "it is not an object with a template" })
  }
  const { entries, notes, refused } = adapt(source, value.entries)
  if (refused !== undefined) return leftOut("command", source, issueAt(refused), "restriction")
  if (!isName(name) || hasBlanks(name)) {
    return leftOut("command", source, { ...value.at, message: "this is not a name for a command" })
  }
  const blank = entries.find((each) => each.value.kind === "string" && hasPromptBlanks(each.value.value))
  if (blank !== undefined) {
    return leftOut(
      "command",
      source,
      issueAt({ at: blank.at, key: blank.key, message: "it is a template; fill in its placeholders" })
    )
  }
  const last = new Map(entries.map((each) => [each.key, each]))
  const tree: Located = { ...value, entries: [...last.values()] }
  const [fault] = checkShape(CommandConfig.ast, tree, ["command", name])
  return fault === undefined
    ? {
      name,
      origin: `${file}:${value.at.line}`,
      // The schema has validated it, so it has that type.
      said: Either.right(plain(tree) as CommandConfig),
      warnings: notes.map(issueAt).map(asNote)
    }
    : leftOut("command", source, issueAt(fault))
}

/** Reads a Markdown file, whose text is the template. */
const readForeignCommand = Effect.fnUntraced(function*(source: ForeignCommandSource) {
  const read = yield* Effect.either(readLenient(source.file))
  if (Either.isLeft(read)) return leftOut("command", source, read.left)
  const matter = yield* readMatter(read.right)
  const template = matter.body.trim()
  const at = { line: matter.line, column: 1 }
  if (template === "") return leftOut("command", source, { ...at, message: "there is no template" })
  const others = matter.entries.filter(({ key }) => wordOf(key) !== "template")
  const content = foreignCommandAt(source, {
    kind: "object",
    at: start,
    entries: [...others, entry("template", at, text(template, at))]
  })
  const notes = [
    ...matter.notes,
    ...matter.entries.filter((each) => !others.includes(each)).map((each) => ({
      at: each.at,
      key: each.key,
      message: "template: the text below the front matter is used"
    }))
  ]
  return {
    ...content,
    origin: source.file,
    warnings: [...notes.map(issueIn(source.file)).map(asNote), ...content.warnings]
  }
})

/** Commands, and warnings about ignored parts of their files. */
export interface LoadedCommands extends CommandList {
  readonly warnings: ReadonlyArray<ConfigIssue>
  /** What needs trust, trusted or not; see `Trust`. */
  readonly widenings: ReadonlyArray<TrustItem>
}

/** The commands in the config of the process. */
export interface CommandSettings {
  readonly settings: Pick<Settings, "command" | "provider">
  readonly origins: Readonly<Record<string, string>>
  /** The providers whose models files of other programs may name; any if absent. */
  readonly whyNot?: ProviderCheck
  /** What the user grants to the files of a project. */
  readonly grants?: Grants
}

/** Commands for one program, in one directory. */
interface Home {
  readonly directories: ReadonlyArray<string>
  readonly foreign?: Foreign
}

const homesIn = (place: string): ReadonlyArray<Home> => [
  { directories: [join(place, ".claude", "commands")], foreign: "claude" },
  { directories: [join(place, ".opencode", "command"), join(place, ".opencode", "commands")], foreign: "opencode" },
  { directories: [join(place, ".skein", "command")] }
]

/**
 * Reads the commands for a directory. Of several with one name the nearest wins: the directory before those above it,
 * the project before the user; in one directory skein.json before `.skein/command`, then OpenCode, then Claude Code. A
 * broken command of Skein wins as well: it is reported, and nothing replaces it. An unusable command of another tool is
 * left out, with a warning.
 */
export const load = Effect.fn("CommandFiles.load")(function*(directory: string, config: CommandSettings) {
  const dirs = yield* DataDirs
  const places = yield* placesOf(directory, dirs.config)
  const seen = new Set<string>()
  const found: Array<CommandContent> = []
  const warnings: Array<ConfigIssue> = []
  const widenings: Array<TrustItem> = []
  const { grants = noGrants } = config
  const settled = configured(config)
  const whyNot: WhyNot = (providerID) => config.whyNot?.(providerID, config.settings.provider?.[providerID])

  const readHome = Effect.fnUntraced(function*({ directories, foreign }: Home, project: ProjectFiles | undefined) {
    const own = new Map<string, CommandContent>()
    for (const top of directories) {
      if (!(yield* isThere(top))) continue
      const issues: Array<ConfigIssue> = []
      for (const { name, path } of yield* listMarkdown(top, { deep: true, what: "command", seen, issues })) {
        const refusal = project === undefined ? undefined : yield* project.refusal(path)
        if (refusal !== undefined) {
          warnings.push({ file: path, message: `this command is ignored: ${refusal}` })
          continue
        }
        const before = own.get(name)
        if (foreign === undefined) {
          own.set(name, before === undefined ? yield* readCommandFile(path, name) : twice(name, path, before))
        } else own.set(name, yield* readForeignCommand({ file: path, name, foreign, whyNot }))
      }
      warnings.push(...issues.map((issue) => foreign === undefined ? issue : { ...issue, kind: "left_out" as const }))
    }
    yield* keep([...own.values()], project)
  })

  /** Keeps what counts of usable commands, and those of Skein; warns about the others. */
  const keep = Effect.fnUntraced(function*(contents: ReadonlyArray<CommandContent>, project: ProjectFiles | undefined) {
    for (const content of contents) {
      const isLeftOut = Either.isLeft(content.said) && content.said.left.every(({ kind }) => kind !== undefined)
      if (isLeftOut && Either.isLeft(content.said)) warnings.push(...content.said.left)
      else found.push(project === undefined ? content : yield* confined(content, project))
    }
  })

  /** A project's command, with the keys that count. */
  const confined = Effect.fnUntraced(function*(content: CommandContent, { root }: ProjectFiles) {
    if (Either.isLeft(content.said)) return content
    const origin = { name: content.origin }
    const leaf: SourcedLeaf = { kind: "leaf", value: content.said.right, origin }
    const project = record([["command", record([[content.name, leaf]], origin)]], origin)
    const { judge } = yield* Effect.promise(() => import("./internal/weigh.ts"))
    const judged = yield* judge({ grants, project, place: { root, directory }, data: dirs.data })
    widenings.push(...judged.items)
    warnings.push(...judged.warnings)
    // What is left of it still has its type: only optional keys do not count.
    const said = valueAt(judged.tree, "leaf", ["command", content.name])?.value as CommandConfig
    return { ...content, said: Either.right(said) }
  })

  const readPlace = Effect.fnUntraced(function*(place: string, homes: ReadonlyArray<Home>, project?: ProjectFiles) {
    for (const home of homes) {
      yield* readHome(home, project)
      if (home.foreign === "opencode") yield* keep(yield* readOpenCode(place, whyNot), project)
    }
    found.push(...settled.filter(({ origin }) => dirname(origin) === place))
  })

  yield* readPlace(places.user, [{ directories: [join(places.user, "command")] }])
  for (const place of places.project) {
    const project = projectFiles({ root: places.root ?? place, directory, data: dirs.data, grants })
    yield* readPlace(place, homesIn(place), project)
    widenings.push(...project.asked)
  }
  // Commands from elsewhere, such as an embedding program, override all others.
  const elsewhere = settled.filter((each) => !found.includes(each))
  return { ...settle([...found, ...elsewhere], warnings), widenings } satisfies LoadedCommands
})

const twice = (name: string, path: string, before: CommandContent): CommandContent =>
  failed(name, path, [{ file: path, key: `command.${name}`, message: `the command ${definedIn(name, before)}` }])

/** The commands of `skein.json`, which were validated when it was read. */
const configured = ({ origins, settings }: CommandSettings): ReadonlyArray<CommandContent> =>
  Object.entries(settings.command ?? {}).map(([name, said]) => ({
    name,
    origin: origins[`command.${name}`] ?? "config",
    said: Either.right(said),
    warnings: []
  }))

/** The commands in OpenCode's config file. */
const readOpenCode = Effect.fnUntraced(function*(place: string, whyNot: WhyNot) {
  const contents: Array<CommandContent> = []
  for (const directory of [place, join(place, ".opencode")]) {
    for (const file of [join(directory, "opencode.json"), join(directory, "opencode.jsonc")]) {
      if (!(yield* isThere(file))) continue
      const parsed = yield* parseForeign(file)
      // Other faults in it are reported by the reader of the whole file.
      if ("content" in parsed) continue
      for (const { key, value } of parsed.tree.entries) {
        if ((key !== "command" && key !== "commands") || value.kind !== "object") continue
        contents.push(
          ...value.entries.map((each) =>
            foreignCommandAt({ file, name: each.key, foreign: "opencode", whyNot }, { ...each.value, at: each.at })
          )
        )
      }
    }
  }
  return contents
})

const infoOf = (
  { name, origin, value }: { readonly name: string; readonly origin: string; readonly value: CommandConfig },
  hides: ReadonlyArray<string>
): CommandInfo => {
  const { agent, description, model, subtask, template } = value
  const ref = model === undefined ? undefined : parseRef(model)
  return {
    name,
    template,
    ...(description === undefined ? {} : { description }),
    ...(agent === undefined ? {} : { agent }),
    ...(ref === undefined ? {} : { model: ref }),
    ...(subtask === undefined ? {} : { subtask }),
    origin,
    hides
  }
}

const settle = (
  found: ReadonlyArray<CommandContent>,
  warned: ReadonlyArray<ConfigIssue>
): Omit<LoadedCommands, "widenings"> => {
  const { broken, usable, warnings } = lastOfEach(found, warned)
  return { commands: usable.map((each) => infoOf(each, each.hides)), broken, warnings }
}
