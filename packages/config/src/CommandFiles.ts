/** Finds the command files for a directory, reads them, and decides which one of a name wins. */
import type { CommandInfo, CommandList } from "@skein/core/Command"
import type { Settings } from "@skein/core/Config"
import type { CommandConfig } from "@skein/domain/ConfigInfo"
import { parseRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dirname, join } from "node:path"
import { type ConfigIssue, formatIssue } from "./ConfigError.ts"
import type { ProviderCheck } from "./ConfigFiles.ts"
import { DataDirs } from "./DataDirs.ts"
import { type CommandContent, readCommandFile } from "./internal/commandFile.ts"
import type { Foreign, WhyNot } from "./internal/foreign.ts"
import { foreignCommandAt, readForeignCommand } from "./internal/foreignCommand.ts"
import { parseForeign } from "./internal/foreignSource.ts"
import { listMarkdown } from "./internal/markdownFiles.ts"
import { isThere, placesOf } from "./internal/places.ts"
import { type Grants, noGrants, type ProjectFiles, projectFiles } from "./internal/projectFiles.ts"
import { at, record, type SourcedLeaf } from "./internal/sourced.ts"
import type { TrustItem } from "./TrustItem.ts"

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
    const said = at(judged.tree, "leaf", ["command", content.name])?.value as CommandConfig
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

const twice = (name: string, path: string, before: CommandContent): CommandContent => ({
  name,
  origin: path,
  said: Either.left([{
    file: path,
    key: `command.${name}`,
    message: `the command ${JSON.stringify(name)} is defined in ${before.origin} as well; rename one of them`
  }]),
  warnings: []
})

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
          ...value.entries.map((entry) =>
            foreignCommandAt({ file, name: entry.key, foreign: "opencode", whyNot }, { ...entry.value, at: entry.at })
          )
        )
      }
    }
  }
  return contents
})

const infoOf = (
  { name, origin }: CommandContent,
  { agent, description, model, subtask, template }: CommandConfig,
  hides: ReadonlyArray<string>
): CommandInfo => {
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
  warnings: ReadonlyArray<ConfigIssue>
): Omit<LoadedCommands, "widenings"> => {
  const byName = new Map<string, ReadonlyArray<CommandContent>>()
  for (const each of found) byName.set(each.name, [each, ...byName.get(each.name) ?? []])
  const all = [...byName.values()].flatMap(([first, ...rest]) => first === undefined ? [] : [{ first, rest }])
  return {
    commands: all.flatMap(({ first, rest }) =>
      Either.isRight(first.said) ? [infoOf(first, first.said.right, rest.map(({ origin }) => origin))] : []
    ),
    broken: all.flatMap(({ first: { name, said } }) =>
      Either.isLeft(said) ? [{ name, message: said.left.map(formatIssue).join("\n") }] : []
    ),
    warnings: [...warnings, ...all.flatMap(({ first }) => first.warnings)]
  }
}
