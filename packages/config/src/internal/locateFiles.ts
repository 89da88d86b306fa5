/** Finds the config files for a directory; if there are none, this takes a few calls and reads nothing. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import type { ConfigIssue } from "../ConfigError.ts"
import type { Foreign } from "./foreign.ts"
import { placesOf } from "./projectFiles.ts"
import { reason } from "./readText.ts"

/** Agent directories of one program. */
export interface AgentHome {
  readonly directories: ReadonlyArray<string>
  /** The program, if it is not Skein. */
  readonly foreign?: Foreign
  /** Whether they are primary agents by default. */
  readonly arePrimary?: true
}

/** A directory with config. */
export interface ConfigPlace {
  readonly directory: string
  /** Its skein.json or skein.jsonc. */
  readonly file: string | undefined
  /** Its config for other programs; later ones override earlier ones. */
  readonly foreign: ReadonlyArray<{ readonly program: Foreign; readonly path: string }>
  /** Its directories with agents; later ones override earlier ones. */
  readonly agents: ReadonlyArray<AgentHome>
  /** Its list of MCP servers. */
  readonly servers?: string
}

/** The places of config, and why some could not be checked. */
interface ConfigFound {
  readonly user: ConfigPlace | undefined
  /** From the top of the tree down to the directory; later ones are nearer. */
  readonly project: ReadonlyArray<ConfigPlace>
  /** The git root; without one, each file's directory is its own project. */
  readonly root: string | undefined
  readonly issues: ReadonlyArray<ConfigIssue>
}

const names = ["skein.json", "skein.jsonc"] as const
const claudeNames = ["settings.json", "settings.local.json"] as const
const openCodeNames = ["opencode.json", "opencode.jsonc"] as const

/** The options of a search: what cannot be checked is kept as an issue, and counts as absent. */
interface Looking {
  readonly fs: FileSystem.FileSystem
  readonly issues: Array<ConfigIssue>
  readonly isThere: (path: string) => Effect.Effect<boolean>
}

const makeLooking = (fs: FileSystem.FileSystem): Looking => {
  const issues: Array<ConfigIssue> = []
  const isThere = (path: string) =>
    Effect.catchAll(Effect.as(fs.stat(path), true), (error) => {
      if (!isAbsent(error)) issues.push({ file: path, message: `cannot be checked: ${reason(error)}` })
      return Effect.succeed(false)
    })
  return { fs, issues, isThere }
}

/** The config file of a directory. */
const lookForFile = Effect.fnUntraced(function*({ isThere, issues }: Looking, place: string) {
  const plain = yield* isThere(join(place, names[0]))
  const commented = yield* isThere(join(place, names[1]))
  if (plain && commented) {
    issues.push({
      file: join(place, names[1]),
      message: `there is also a ${names[0]}; keep only one of them`
    })
  }
  return plain ? join(place, names[0]) : commented ? join(place, names[1]) : undefined
})

/** The settings of another program. */
const lookForForeign = ({ isThere }: Looking, program: Foreign, place: string, fileNames: ReadonlyArray<string>) =>
  Effect.map(
    Effect.filter(fileNames.map((name) => join(place, name)), isThere),
    (paths) => paths.map((path) => ({ program, path }))
  )

/** The directories with agents; those of other programs come first. */
const lookForAgents = Effect.fnUntraced(function*(
  { isThere }: Looking,
  place: string,
  claude: string | undefined,
  openCode: string | undefined
) {
  const skein = join(place, ".skein", "agent")
  const homes: Array<AgentHome> = []
  if (claude !== undefined && (yield* isThere(join(claude, "agents")))) {
    homes.push({ directories: [join(claude, "agents")], foreign: "claude" })
  }
  if (openCode !== undefined) {
    // The place of primary agents in its older versions.
    const modes = yield* Effect.filter([join(openCode, "mode"), join(openCode, "modes")], isThere)
    if (modes.length > 0) homes.push({ directories: modes, foreign: "opencode", arePrimary: true })
    const directories = yield* Effect.filter([join(openCode, "agent"), join(openCode, "agents")], isThere)
    if (directories.length > 0) homes.push({ directories, foreign: "opencode" })
  }
  if (yield* isThere(skein)) homes.push({ directories: [skein] })
  return homes
})

/** The config of one directory of a project. */
const lookAt = Effect.fnUntraced(function*(looking: Looking, place: string) {
  const { isThere } = looking
  const claude = join(place, ".claude")
  const openCode = join(place, ".opencode")
  const hasClaude = yield* isThere(claude)
  const hasOpenCode = yield* isThere(openCode)
  const servers = join(place, ".mcp.json")
  return {
    directory: place,
    file: yield* lookForFile(looking, place),
    agents: yield* lookForAgents(looking, place, hasClaude ? claude : undefined, hasOpenCode ? openCode : undefined),
    foreign: [
      ...(hasClaude ? yield* lookForForeign(looking, "claude", claude, claudeNames) : []),
      ...(yield* lookForForeign(looking, "opencode", place, openCodeNames)),
      ...(hasOpenCode ? yield* lookForForeign(looking, "opencode", openCode, openCodeNames) : [])
    ],
    ...((yield* isThere(servers)) ? { servers } : {})
  } satisfies ConfigPlace
})

/** The config of the user's directory. */
const lookAtUser = Effect.fnUntraced(function*(looking: Looking, directory: string) {
  // Without config this directory does not exist, and this takes one check.
  if (!(yield* looking.isThere(directory))) return undefined
  const file = yield* lookForFile(looking, directory)
  const agents = join(directory, "agent")
  return {
    directory,
    file,
    foreign: [],
    agents: (yield* looking.isThere(agents)) ? [{ directories: [agents] }] : []
  } satisfies ConfigPlace
})

/** The project without the user's own file, which may be in its tree as well: it is read once, as the user's. */
const withoutOwn = Effect.fnUntraced(function*(
  { fs }: Looking,
  project: ReadonlyArray<ConfigPlace>,
  own: string | undefined
) {
  if (own === undefined || project.length === 0) return project
  const real = yield* Effect.orElseSucceed(fs.realPath(own), () => own)
  return yield* Effect.forEach(project, (place) => {
    const { file } = place
    return file === undefined
      ? Effect.succeed(place)
      : Effect.map(
        Effect.orElseSucceed(fs.realPath(file), () => file),
        (found): ConfigPlace => found === real ? { ...place, file: undefined } : place
      )
  })
})

/**
 * Searches the user's directory, and from `directory` up to the git root or the top of the file system. Sequentially:
 * parallel fibers were measured to take three times as long as the search itself.
 */
export const locateFiles = Effect.fnUntraced(function*(directory: string, userDirectory: string) {
  const looking = makeLooking(yield* FileSystem.FileSystem)
  const user = yield* lookAtUser(looking, userDirectory)
  const places = yield* placesOf(directory, userDirectory)
  const found = yield* Effect.forEach(places.project, (place) => lookAt(looking, place))
  const project = found.filter((place) =>
    place.file !== undefined || place.agents.length > 0 || place.foreign.length > 0 || "servers" in place
  )
  const others = yield* withoutOwn(looking, project, user?.file)
  return { user, project: others, root: places.root, issues: looking.issues } satisfies ConfigFound
})

// A path below a file does not exist either.
const isAbsent = (error: PlatformError): boolean =>
  error._tag === "SystemError"
  && (error.reason === "NotFound" || /^ENOTDIR\b/.test(error.description ?? ""))
