/** Finds the files of config that hold for a directory; where there are none it costs a few calls and reads nothing. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { dirname, join, resolve } from "node:path"
import type { ConfigIssue } from "../ConfigError.ts"
import type { Foreign } from "./foreign.ts"
import { reason } from "./readText.ts"

/** Directories of agents that are written for one program. */
export interface AgentHome {
  readonly directories: ReadonlyArray<string>
  /** The program, where it is not Skein. */
  readonly foreign?: Foreign
  /** Whether they are primary agents unless they say something else. */
  readonly arePrimary?: true
}

/** A directory in which there is config. */
export interface ConfigPlace {
  readonly directory: string
  /** Its skein.json or skein.jsonc. */
  readonly file: string | undefined
  /** Its config for other programs; the later ones win. */
  readonly foreign: ReadonlyArray<{ readonly program: Foreign; readonly path: string }>
  /** Where its agents are; the later ones win. */
  readonly agents: ReadonlyArray<AgentHome>
  /** Its list of MCP servers. */
  readonly servers?: string
}

/** Where config is, and what keeps it from being found. */
interface ConfigFound {
  readonly user: ConfigPlace | undefined
  /** From the top of the tree down to the directory; the later ones are nearer. */
  readonly project: ReadonlyArray<ConfigPlace>
  /** The git root; without one, each file stands for its own directory. */
  readonly root: string | undefined
  readonly issues: ReadonlyArray<ConfigIssue>
}

const names = ["skein.json", "skein.jsonc"] as const
const claudeNames = ["settings.json", "settings.local.json"] as const
const openCodeNames = ["opencode.json", "opencode.jsonc"] as const

/** How one look goes: what cannot be looked at is kept as an issue, and counts as absent. */
interface Looking {
  readonly fs: FileSystem.FileSystem
  readonly issues: Array<ConfigIssue>
  readonly isThere: (path: string) => Effect.Effect<boolean>
}

const makeLooking = (fs: FileSystem.FileSystem): Looking => {
  const issues: Array<ConfigIssue> = []
  const isThere = (path: string) =>
    Effect.catchAll(Effect.as(fs.stat(path), true), (error) => {
      if (!isAbsent(error)) issues.push({ file: path, message: `cannot be looked at: ${reason(error)}` })
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
      message: `there is a ${names[0]} beside it; keep one of the two, so that nobody reads the wrong one`
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
    // Where its older versions have agents for people.
    const modes = yield* Effect.filter([join(openCode, "mode"), join(openCode, "modes")], isThere)
    if (modes.length > 0) homes.push({ directories: modes, foreign: "opencode", arePrimary: true })
    const directories = yield* Effect.filter([join(openCode, "agent"), join(openCode, "agents")], isThere)
    if (directories.length > 0) homes.push({ directories, foreign: "opencode" })
  }
  if (yield* isThere(skein)) homes.push({ directories: [skein] })
  return homes
})

/** What one directory of a project has. */
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

/** What a directory and those above it have, up to the git root. */
const walk = Effect.fnUntraced(function*(looking: Looking, directory: string) {
  const project: Array<ConfigPlace> = []
  // Links are followed first, as git does: a linked directory belongs to the tree that it lies in.
  let place = yield* Effect.orElseSucceed(looking.fs.realPath(directory), () => resolve(directory))
  for (;;) {
    const found = yield* lookAt(looking, place)
    const isRoot = yield* looking.isThere(join(place, ".git"))
    if (found.file !== undefined || found.agents.length > 0 || found.foreign.length > 0 || "servers" in found) {
      project.unshift(found)
    }
    const above = dirname(place)
    if (isRoot) return { project, root: place }
    if (above === place) return { project, root: undefined }
    place = above
  }
})

/** What the user's directory has. */
const lookAtUser = Effect.fnUntraced(function*(looking: Looking, directory: string) {
  // Without config there is no such directory, and this costs one check.
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

/** The project without the user's own file, which may lie in its tree as well: it is read once, as the user's. */
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
 * Looks in the user's directory, and from `directory` up to the git root or the top of the file system. One look after the
 * other: fibers to look at once were measured to cost three times as much as the looking.
 */
export const locateFiles = Effect.fnUntraced(function*(directory: string, userDirectory: string) {
  const looking = makeLooking(yield* FileSystem.FileSystem)
  const user = yield* lookAtUser(looking, userDirectory)
  const { project, root } = yield* walk(looking, directory)
  const others = yield* withoutOwn(looking, project, user?.file)
  return { user, project: others, root, issues: looking.issues } satisfies ConfigFound
})

// A directory that is a file has nothing in it either.
const isAbsent = (error: PlatformError): boolean =>
  error._tag === "SystemError"
  && (error.reason === "NotFound" || /^ENOTDIR\b/.test(error.description ?? ""))
