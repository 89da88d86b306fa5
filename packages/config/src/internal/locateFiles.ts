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

/**
 * Looks in the user's directory, and from `directory` up to the git root or the top of the file system. One look after the
 * other: fibers to look at once were measured to cost three times as much as the looking.
 */
export const locateFiles = Effect.fnUntraced(function*(directory: string, userDirectory: string) {
  const fs = yield* FileSystem.FileSystem
  const issues: Array<ConfigIssue> = []

  const isThere = (path: string) =>
    Effect.catchAll(Effect.as(fs.stat(path), true), (error) => {
      if (!isAbsent(error)) issues.push({ file: path, message: `cannot be looked at: ${reason(error)}` })
      return Effect.succeed(false)
    })

  const look = Effect.fnUntraced(function*(place: string) {
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

  const lookFor = (program: Foreign, place: string, wanted: ReadonlyArray<string>) =>
    Effect.map(
      Effect.filter(wanted.map((name) => join(place, name)), isThere),
      (paths) => paths.map((path) => ({ program, path }))
    )

  const lookForAgents = Effect.fnUntraced(function*(
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

  const lookAt = Effect.fnUntraced(function*(place: string) {
    const claude = join(place, ".claude")
    const openCode = join(place, ".opencode")
    const hasClaude = yield* isThere(claude)
    const hasOpenCode = yield* isThere(openCode)
    const servers = join(place, ".mcp.json")
    return {
      directory: place,
      file: yield* look(place),
      agents: yield* lookForAgents(place, hasClaude ? claude : undefined, hasOpenCode ? openCode : undefined),
      foreign: [
        ...(hasClaude ? yield* lookFor("claude", claude, claudeNames) : []),
        ...(yield* lookFor("opencode", place, openCodeNames)),
        ...(hasOpenCode ? yield* lookFor("opencode", openCode, openCodeNames) : [])
      ],
      ...((yield* isThere(servers)) ? { servers } : {})
    } satisfies ConfigPlace
  })

  const walk = Effect.fnUntraced(function*() {
    const project: Array<ConfigPlace> = []
    // Links are followed first, as git does: a linked directory belongs to the tree that it lies in.
    let place = yield* Effect.orElseSucceed(fs.realPath(directory), () => resolve(directory))
    for (;;) {
      const found = yield* lookAt(place)
      const isRoot = yield* isThere(join(place, ".git"))
      if (found.file !== undefined || found.agents.length > 0 || found.foreign.length > 0 || "servers" in found) {
        project.unshift(found)
      }
      const above = dirname(place)
      if (isRoot) return { project, root: place }
      if (above === place) return { project, root: undefined }
      place = above
    }
  })

  const lookAtUser = Effect.fnUntraced(function*() {
    // Without config there is no such directory, and this costs one check.
    if (!(yield* isThere(userDirectory))) return undefined
    const file = yield* look(userDirectory)
    const agents = join(userDirectory, "agent")
    return {
      directory: userDirectory,
      file,
      foreign: [],
      agents: (yield* isThere(agents)) ? [{ directories: [agents] }] : []
    } satisfies ConfigPlace
  })

  const user = yield* lookAtUser()
  const { project, root } = yield* walk()
  // The user's own file may lie in a tree as well, such as one of dotfiles: it is read once, as the user's.
  const own = user?.file
  const real = own === undefined || project.length === 0
    ? undefined
    : yield* Effect.orElseSucceed(fs.realPath(own), () => own)
  const withoutOwn = (place: ConfigPlace) => {
    const { file } = place
    return file === undefined
      ? Effect.succeed(place)
      : Effect.map(
        Effect.orElseSucceed(fs.realPath(file), () => file),
        (found) => found === real ? { ...place, file: undefined } : place
      )
  }
  const others = real === undefined ? project : yield* Effect.forEach(project, withoutOwn)
  return { user, project: others, root, issues } satisfies ConfigFound
})

// A directory that is a file has nothing in it either.
const isAbsent = (error: PlatformError): boolean =>
  error._tag === "SystemError"
  && (error.reason === "NotFound" || /^ENOTDIR\b/.test(error.description ?? ""))
