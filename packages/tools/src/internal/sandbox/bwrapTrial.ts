/** Tests whether bubblewrap can be used here, and what it can do. */
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { ownEnvironment, ownProgram } from "../../OwnPrograms.ts"
import type { SandboxOptions } from "../../SandboxPlace.ts"
import { worldOf } from "./bwrapArguments.ts"
import { filterFor } from "./systemCalls.ts"

/**
 * Its possible flags, best first. Root would keep its capabilities and could unmount things. Namespaces created inside
 * are no way out, but they expose most of the kernel's bugs; versions before 0.8 cannot forbid them.
 */
const strengths = [
  ["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"],
  ["--unshare-all", "--cap-drop", "ALL"]
] as const

/** How long the test may take, in milliseconds. */
const patience = 5_000

/** A sandbox has its own process ids, so its first shell has a small one. */
const proof = ["sh", "-c", "echo \"sandboxed $$\""]

type TrialOptions = Pick<SandboxOptions, "directory" | "environment">

/** What the system says, and Node as a code, if the machine has none left for the moment. */
const shortage =
  /\b(E(AGAIN|MFILE|NFILE|NOMEM))\b|Resource temporarily unavailable|Too many open files|Cannot allocate memory/

interface Failure {
  readonly why: string
  /** Whether the same flags might work later. */
  readonly isTemporary: boolean
  /** Whether a weaker set of flags might work. */
  readonly isRefused: boolean
}

/** What bubblewrap can do here. */
export interface Strength {
  /** The flags before all others. */
  readonly flags: ReadonlyArray<string>
  /** The filter of system calls that it can install. */
  readonly filter: Buffer | undefined
}

const attempt = (strength: Strength, { directory = "/", environment }: TrialOptions) =>
  Effect.async<Strength, Failure>((resume) => {
    const { filter, flags } = strength
    const child = execFile(
      ownProgram("bwrap", environment["PATH"], directory),
      [
        ...flags,
        ...filter === undefined ? [] : ["--seccomp", "0"],
        "--die-with-parent",
        ...worldOf({ system: ["/"], links: [], isRoot: true }),
        "--",
        ...proof
      ],
      { env: ownEnvironment({ PATH: environment["PATH"] ?? "" }, directory), timeout: patience, killSignal: "SIGKILL" },
      (error, out, complaints) => {
        const failed = (why: string, given: Partial<Failure> = {}) =>
          resume(Effect.fail({ why, isRefused: false, isTemporary: false, ...given }))
        if (error === null) {
          return /^sandboxed \d\n$/.test(out)
            ? resume(Effect.succeed(strength))
            : failed("the bwrap on the PATH confines nothing: it is not bubblewrap")
        }
        if (error.code === "ENOENT") return failed("bubblewrap (bwrap) was not found on PATH (apt install bubblewrap)")
        if (error.killed === true) {
          return failed(`bubblewrap (bwrap) did not end within ${patience / 1_000} seconds`, { isTemporary: true })
        }
        const said = complaints.trim().split("\n", 1).join("") || error.message.split("\n", 1).join("")
        const isTemporary = shortage.test(said)
        failed(`bubblewrap does not work here (${said})`, { isRefused: !isTemporary, isTemporary })
      }
    )
    child.stdin?.on("error", () => undefined).end(filter)
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** The greatest strength that works here; fails with the reason why bubblewrap cannot be used. */
export const bwrapTrial = (options: TrialOptions): Effect.Effect<Strength, Failure> => {
  const filter = filterFor(process.arch)
  const [first, ...others] = [filter, ...filter === undefined ? [] : [undefined]].flatMap((each) =>
    strengths.map((flags) => attempt({ flags, filter: each }, options))
  )
  return others.reduce(
    (before, next) => Effect.catchIf(before, ({ isRefused }) => isRefused, () => next),
    first ?? Effect.fail({ why: "there is none", isRefused: false, isTemporary: false })
  )
}
