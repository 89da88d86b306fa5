/** Finds `/command` and `@name` in the prompt that match nothing, before anything is stored or sent. */
import * as FileSystem from "@effect/platform/FileSystem"
import type { ProjectFacts } from "@skein/backend/ProjectFacts"
import { Command } from "@skein/core/Command"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { similar } from "@skein/domain/Lookup"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import { basename, dirname, join, resolve } from "node:path"
import { UsageError } from "../../ExitCode.ts"

/** The directory of a prompt, and what its project has. */
export interface Naming {
  readonly directory: string
  readonly projects: ProjectFacts
  /** Whether the files of the directory are on this machine. If not, only the server can look for them. */
  readonly seesFiles: boolean
}

/** How many names are checked: a prompt may quote a text with many of them. */
const most = 50

/** The name of a command. Other words after a slash are paths or patterns. */
const commandName = /^[\p{L}\p{N}][\p{L}\p{N}_:-]*$/u

/** Names that can only be files: with an extension, or relative or absolute paths. Others may be handles or packages. */
const filePattern = /\.[A-Za-z][A-Za-z0-9]{0,7}$|^(?:\.{1,2}|~)?\/|\s/

const exists = (path: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.orElseSucceed(fs.exists(path), () => false))

const namesBelow = (directory: string) =>
  Effect.flatMap(
    FileSystem.FileSystem,
    (fs) => Effect.orElseSucceed(fs.readDirectory(directory), (): ReadonlyArray<string> => [])
  )

/** Refuses a `/word` that is neither a command nor a path, and a path that is one typing error away from a command. */
export const checkSlash = Effect.fnUntraced(function*(written: string, { directory, projects }: Naming) {
  if (yield* exists(`/${written}`)) return
  const { items: known } = yield* projects.commands(directory)
  const meant = similar(written, known.map(({ name }) => name))
  if (meant === undefined && !commandName.test(written)) return
  return yield* new UsageError({
    message: `There is no command /${written}.${
      meant === undefined ? "" : ` Did you mean /${meant}?`
    } See \`skein commands\`. To send it as text, begin the prompt with a space.`
  })
})

const isSubagent = ({ hidden, mode }: AgentInfo): boolean => !hidden && mode !== "primary"

/** What is wrong with a name; undefined if it is a subagent or a file. `refuse`: it was surely meant as one of them. */
const faultOf = Effect.fnUntraced(function*(name: string, { directory, projects, seesFiles }: Naming) {
  // What resources there are, only their server knows.
  if (Command.resourceOf(name) !== undefined) return undefined
  const { agents } = yield* projects.agents(directory)
  if (agents.some((agent) => agent.name === name && isSubagent(agent))) return undefined
  const home = yield* Effect.orElseSucceed(Config.withDefault(Config.string("HOME"), "~"), () => "~")
  const path = resolve(directory, name.startsWith("~/") ? join(home, name.slice(2)) : name)
  if (seesFiles && (yield* exists(path))) return undefined
  const wrong = yield* Effect.flip(projects.agent(directory, name)).pipe(Effect.orElseSucceed(() => undefined))
  if (wrong?.reason === "broken") return { refuse: true, says: wrong.message }
  if (!seesFiles) {
    return filePattern.test(name)
      ? { refuse: false, says: `@${name} is looked for on the server. If it is not there, it is sent as text.` }
      : undefined
  }
  const siblings = yield* namesBelow(dirname(path))
  const file = similar(basename(path), siblings)
  const meant = similar(name, agents.filter(isSubagent).map((agent) => agent.name))
    ?? (file === undefined ? undefined : join(dirname(name), file))
  // If the first folder exists, the rest is the path of a file, even without an extension.
  const isFile = filePattern.test(name) || (dirname(name) !== "." && siblings.length > 0)
  const hint = meant === undefined ? "" : ` Did you mean @${meant}?`
  return isFile || meant !== undefined
    ? { refuse: true, says: `@${name} is neither a file here nor a subagent.${hint}` }
    : { refuse: false, says: `@${name} is neither a file here nor a subagent, and is sent as text.` }
})

/** Refuses an `@name` that was meant as a file or a subagent and is neither. Notes other such names. */
export const checkNames = Effect.fnUntraced(
  function*(words: string, place: Naming, note: (line: string) => void) {
    for (const name of Command.namesIn(words).slice(0, most)) {
      const fault = yield* faultOf(name, place)
      if (fault === undefined) continue
      if (fault.refuse) {
        return yield* new UsageError({ message: `${fault.says} To send it as text, write it in backticks.` })
      }
      note(fault.says)
    }
  }
)
