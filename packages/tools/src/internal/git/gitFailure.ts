/** The messages for failures of git. */
import { IsolationRefused } from "@skein/core/Isolation"
import type { GitNotStarted } from "./gitProcess.ts"

/** The refusal for a failure without a name of its own. */
export const failed = (message: string): IsolationRefused => new IsolationRefused({ reason: "failed", message })

const lockHeld = /.*'(.+\.lock)': File exists/s

/** Whether a retry may help: another git holds a lock, or is creating or removing a worktree. */
export const isPassing = (said: string): boolean => lockHeld.test(said) || /failed to read .*commondir/.test(said)

/** What git reported, and how to fix it. */
export const complaint = (directory: string, stderr: string): string => {
  const lines = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("hint:"))
  const worst = lines.filter((line) => /^(fatal|error): /.test(line))
  const said = (worst.length > 0 ? worst : lines.slice(-3)).join("; ").slice(0, 1_000).replace(/\.$/, "")
  const lock = lockHeld.exec(stderr)?.[1]
  if (lock !== undefined) {
    return `${said}. Another git is at work there: wait for it, or delete ${lock} if there is none.`
  }
  if (stderr.includes("dubious ownership")) {
    return `${said}. If you trust it, say so: git config --global --add safe.directory '${directory}'`
  }
  return `${said || "git does not say why"}. \`git status\` in ${directory} may tell more; fix it and try again.`
}

/** Why git did not run at all. */
export const couldNotStart = (directory: string) => ({ missing, reason }: GitNotStarted): IsolationRefused => {
  switch (missing) {
    case "git":
      return new IsolationRefused({
        reason: "git_missing",
        message: `Isolation needs git, and ${reason}. Install it; \`skein doctor\` tells how.`
      })
    case "directory":
      return new IsolationRefused({
        reason: "not_found",
        message: `There is no directory ${directory}. Make it again, or begin in another one.`
      })
    default:
      return failed(`Git could not be started in ${directory}: ${reason}. \`skein doctor\` tells what is missing.`)
  }
}

/** Says which of Skein's files could not be written or read, and why. */
export const cannotKeep = (where: string) => (error: { readonly message: string }): IsolationRefused =>
  failed(
    `The worktree at ${where} cannot be kept up: ${error.message}. See that this user may write there, or choose another data directory with XDG_DATA_HOME.`
  )
