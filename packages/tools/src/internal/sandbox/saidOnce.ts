/** Remembers the last remark about this machine, so that a person gets it once, and again after the machine has changed. */
import * as NodeFs from "node:fs"
import { join } from "node:path"
import { attempt } from "../processes.ts"

const fileIn = (dataDirectory: string): string => join(dataDirectory, "sandbox-said")

/** Whether this remark is new, and remembers it. If that fails, the next one is new as well. */
export const isNews = (dataDirectory: string, message: string): boolean => {
  const file = fileIn(dataDirectory)
  if (attempt(() => NodeFs.readFileSync(file, "utf8"), "") === message) return false
  attempt(() => NodeFs.writeFileSync(file, message, { mode: 0o600 }), undefined)
  return true
}

/** The remark is no longer true. */
export const forget = (dataDirectory: string): void =>
  attempt(() => NodeFs.rmSync(fileIn(dataDirectory), { force: true }), undefined)
