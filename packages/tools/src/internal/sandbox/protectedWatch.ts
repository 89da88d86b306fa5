/**
 * Watches for protected names that a command creates without approval. They are moved away when they appear, and once
 * more when the command has ended. What does not exist cannot be mounted over, and these have no placeholder.
 */
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { basename, dirname, join, relative } from "node:path"
import { lstatOf } from "../files/lstatOf.ts"
import { attempt } from "../processes.ts"
import { aside } from "./repositoryChecks.ts"

/** How often the same name is kept. Later ones are removed. */
const mostKept = 3

const isThere = (path: string): boolean => lstatOf(path) !== undefined

/** What is watched for one command. */
interface Watch {
  readonly directory: string
  /** Whether a name in it is protected. */
  readonly isNamed: (name: string) => boolean
  /** Those that were there before. */
  readonly before: ReadonlySet<string>
}

/**
 * The watches of this process's commands. What another command is creating counts as missing too, because nobody has
 * approved it.
 */
export class WatchedPaths {
  readonly #watches = new Set<Watch>()

  has(path: string): boolean {
    const [directory, name] = [dirname(path), basename(path)]
    return [...this.#watches].some((each) =>
      each.directory === directory && each.isNamed(name) && !each.before.has(name)
    )
  }

  add(watch: Watch): void {
    this.#watches.add(watch)
  }

  remove(watch: Watch): void {
    this.#watches.delete(watch)
  }
}

const namesIn = (directory: string): ReadonlyArray<string> => attempt(() => NodeFs.readdirSync(directory), [])

/** Watches until the scope closes. Returns the final check, which reports what was moved away. */
export const watchProtected = (
  options: Pick<Watch, "directory" | "isNamed"> & {
    /** The top of the tree. */
    readonly top: string
    /** Checked at each event: another call may have approval for what appears. */
    readonly isApproved: (path: string) => boolean
    readonly all: WatchedPaths
  }
) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const { all, directory, isApproved, isNamed } = options
        const before = new Set(namesIn(directory).filter((name) => isNamed(name) && !all.has(join(directory, name))))
        const watch: Watch = { directory, isNamed, before }
        all.add(watch)
        const taken = new Map<string, Array<string>>()
        const take = (name: string) => {
          const path = join(directory, name)
          if (!isNamed(name) || before.has(name) || !isThere(path) || isApproved(path)) return
          attempt(() => {
            const kept = taken.get(name) ?? []
            taken.set(name, kept)
            if (kept.length < mostKept) kept.push(aside(path))
            else NodeFs.rmSync(path, { recursive: true, force: true })
          }, undefined)
        }
        // If nothing can be watched, only the final check remains.
        const watcher = attempt(
          () => NodeFs.watch(directory, { persistent: false }, (_, name) => name === null ? undefined : take(name)),
          undefined
        )
        watcher?.on("error", () => watcher.close())
        return { take, taken, watch, watcher }
      }),
      ({ watch, watcher }) =>
        Effect.sync(() => {
          watcher?.close()
          options.all.remove(watch)
        })
    ),
    ({ take, taken }) => (): ReadonlyArray<string> => {
      const { directory, isNamed, top } = options
      for (const name of namesIn(directory).filter(isNamed)) take(name)
      return [...taken].map(([name, kept]) =>
        `${
          relative(top, join(directory, name))
        } is protected, and this command was not allowed to make it. What it made is now ${
          kept.map((path) => relative(top, path)).join(", ")
        }.`
      )
    }
  )
