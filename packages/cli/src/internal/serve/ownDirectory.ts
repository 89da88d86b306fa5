/** Says which of Skein's own directories cannot be written, and what to do. */
import { UsageError } from "../../UsageError.ts"

/** The error of a file in it; `variable` is what moves the directory. */
export const unwritable = (path: string, variable: "XDG_DATA_HOME" | "XDG_STATE_HOME", reason: string): UsageError =>
  new UsageError({
    message:
      `${path} cannot be written (${reason}). Make it and its directory writable for you, or set ${variable} to another directory.`
  })
