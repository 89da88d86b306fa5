/** Checks the programs of the machine. */
import { environment } from "@skein/tools/Environment"
import { ownEnvironment, ownProgram } from "@skein/tools/OwnPrograms"
import { Sandbox } from "@skein/tools/Sandbox"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { Stdio } from "../../Stdio.ts"

/** The result of one check. */
export interface Check {
  readonly name: string
  /** `warn`: it works, but less well; `missing`: it does not exist; `broken`: it exists, but cannot be used. */
  readonly state: "ok" | "warn" | "missing" | "broken"
  /** Whether nothing works without it. */
  readonly essential: boolean
  readonly detail: string
  /** How to get or fix it. */
  readonly fix?: string
}

/** The result of running a program. */
interface Probed {
  readonly works: boolean
  /** Whether it is not installed. */
  readonly isMissing: boolean
  /** Its output if it works, otherwise the reason why it does not. */
  readonly said: string
}

/** Runs a program for at most five seconds. */
const probe = Effect.fnUntraced(function*(name: string, args: ReadonlyArray<string>) {
  const variables = yield* environment
  const file = ownProgram(name, variables["PATH"], process.cwd())
  const options = {
    env: ownEnvironment(variables, process.cwd()),
    timeout: 5_000,
    killSignal: "SIGKILL",
    encoding: "utf8"
  } as const
  return yield* Effect.async<Probed>((resume) => {
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      const works = error === null
      const isMissing = error !== null && "code" in error && error.code === "ENOENT"
      const why = isMissing
        ? "it was not found on PATH"
        : stderr.trim() || error?.message
      resume(Effect.succeed({ works, isMissing, said: works ? stdout.trim() : why?.split("\n", 1)[0] ?? "" }))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })
})

/** How to install a program. */
const install = (apt: string, brew: string): string => `Get it with: apt install ${apt}, or brew install ${brew}`

/** Node itself. `bin/skein.js` has already refused one that is too old. */
export const checkNode: Effect.Effect<Check> = Effect.sync(() => ({
  name: "node",
  state: "ok",
  essential: true,
  detail: `${process.version} on ${process.platform} ${process.arch}`
}))

/** Git, which worktrees need. */
export const checkGit: Effect.Effect<Check> = Effect.map(probe("git", ["--version"]), ({ said, works }) => ({
  name: "git",
  state: works ? "ok" : "missing",
  essential: false,
  detail: works ? said : `git cannot be run: ${said}`,
  ...(works ? {} : { fix: install("git", "git") })
}))

const bundled = Effect.tryPromise(() => import("@vscode/ripgrep")).pipe(
  Effect.flatMap(({ rgPath }) => probe(rgPath, ["--version"])),
  Effect.orElseSucceed(() => ({ works: false, said: "it is not installed" }))
)

/** Ripgrep: Skein's copy, or the machine's. */
export const checkRipgrep: Effect.Effect<Check> = Effect.map(
  Effect.all([bundled, probe("rg", ["--version"])], { concurrency: "unbounded" }),
  ([own, other]): Check => {
    const version = (said: string) => said.split("\n", 1).join("")
    const base = { name: "ripgrep", essential: true } as const
    if (own.works) {
      return {
        ...base,
        state: "ok",
        detail: `${version(own.said)} (comes with Skein)${other.works ? `; on the PATH: ${version(other.said)}` : ""}`
      }
    }
    if (other.works) {
      return {
        ...base,
        state: "ok",
        detail: `${version(other.said)} on the PATH; Skein's copy cannot be used: ${own.said}`
      }
    }
    return {
      ...base,
      state: "missing",
      detail: `grep and glob cannot work: Skein's copy cannot be used (${own.said}), and none was found on PATH`,
      fix: install("ripgrep", "ripgrep")
    }
  }
)

/** A shell for the tool `bash`. */
export const checkShell: Effect.Effect<Check> = Effect.map(probe("bash", ["--version"]), ({ said, works }) => ({
  name: "bash",
  state: works ? "ok" : "warn",
  essential: false,
  detail: works ? said.split("\n", 1).join("") : `bash cannot be run (${said}): commands run in sh`,
  ...(works ? {} : { fix: install("bash", "bash") })
}))

/** What it means to have no sandbox. */
export const unconfined =
  "you are asked for commands, and one that you allow may do anything that you can: read your keys, use the network, outlive the session"

/** Bubblewrap: whether it is installed, and whether the system lets it work. */
export const checkSandbox: Effect.Effect<Check> = Effect.gen(function*() {
  const base = { name: "sandbox", essential: false } as const
  if (process.platform !== "linux") {
    return {
      ...base,
      state: "warn",
      detail: `there is none on ${process.platform}: ${unconfined}`
    } satisfies Check
  }
  const there = yield* probe("bwrap", ["--version"])
  if (there.isMissing) {
    return {
      ...base,
      state: "missing",
      detail: `bubblewrap is not installed: ${unconfined}`,
      fix: "Get it with: apt install bubblewrap"
    } satisfies Check
  }
  // Skein itself runs the same test, because a bubblewrap that starts does not necessarily confine.
  return yield* Effect.match(Effect.flatMap(environment, Sandbox.trial), {
    onSuccess: (): Check => ({ ...base, state: "ok", detail: `${there.said} works` }),
    onFailure: ({ message }): Check => ({
      ...base,
      state: "warn",
      detail: `${message}; ${unconfined}`,
      fix: "User namespaces may be turned off: see `man bwrap`"
    })
  })
})

/** The terminal, for the live view. */
export const checkTerminal: Effect.Effect<Check, never, Stdio> = Effect.gen(function*() {
  const stdio = yield* Stdio
  const name = yield* Effect.orElseSucceed(Config.withDefault(Config.string("TERM"), ""), () => "")
  const { input, output } = stdio.isTerminal
  const { columns, rows } = stdio.size()
  const base = { name: "terminal", essential: false } as const
  if (!output || name === "dumb") {
    return {
      ...base,
      state: "warn",
      detail: "output is not a terminal: progress is plain lines, and Skein cannot ask you questions"
    } satisfies Check
  }
  return {
    ...base,
    state: input ? "ok" : "warn",
    detail: `${name === "" ? "unknown" : name}, ${columns} x ${rows}${
      input ? "" : "; input is not a terminal: Skein cannot ask you questions"
    }`
  } satisfies Check
})
