/** Runs git in a directory as a fixed user, without the machine's config and a hook's variables. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"

/** The author and the date of commits, so that commits of the same files have the same id. */
const somebody = { NAME: "Somebody", EMAIL: "somebody@example.org", DATE: "2025-01-01T00:00:00Z" }

const identity = Object.fromEntries(
  ["AUTHOR", "COMMITTER"].flatMap((role) =>
    Object.entries(somebody).map(([key, value]) => [`GIT_${role}_${key}`, value])
  )
)

const path = Effect.orElseSucceed(Config.string("PATH"), () => "/usr/local/bin:/usr/bin:/bin")

/** Git in one directory; interruption ends it. */
export const makeGit =
  <E>(directory: string, failed: (message: string) => E) =>
  (...args: ReadonlyArray<string>): Effect.Effect<string, E> =>
    Effect.flatMap(path, (PATH) =>
      Effect.async<string, E>((resume, signal) => {
        execFile(
          "git",
          args,
          {
            cwd: directory,
            signal,
            maxBuffer: 64 * 1024 * 1024,
            env: { ...identity, PATH, HOME: directory, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" }
          },
          (error, stdout, stderr) =>
            resume(
              error === null
                ? Effect.succeed(stdout.trim())
                : Effect.fail(failed(`git ${args.join(" ")} failed in ${directory}: ${stderr.trim() || error.message}`))
            )
        )
      }))
