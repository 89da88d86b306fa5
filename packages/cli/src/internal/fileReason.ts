/** Says in plain words why the file system refused something. */
import type { PlatformError } from "@effect/platform/Error"

const reasons: Readonly<Record<string, string>> = {
  AlreadyExists: "it already exists",
  BadResource: "it is a directory, or not a regular file",
  NotFound: "there is no such file or directory",
  PermissionDenied: "permission denied"
}

/** Such as `permission denied`. */
export const fileReason = (error: PlatformError): string =>
  error._tag === "BadArgument" ? error.message : reasons[error.reason] ?? error.description ?? error.reason
