/** Names the places that every sandbox has for itself. No consent replaces them with those of the machine. */
import { isIn } from "../within.ts"

/** Consent to one of these, not to what is in it, shows what the sandbox has there. */
const own = new Set(["/", "/run", "/tmp"])

/** In these, everything is the sandbox's own. */
const whole = ["/dev", "/proc", "/run"]

/** Drives that are plugged in. */
const drives = "/run/media"

/** Whether a real path is the sandbox's own, so that consent to it shows nothing of the machine. */
export const isClosed = (path: string): boolean =>
  own.has(path) || (whole.some((each) => isIn(path, each)) && !(isIn(path, drives) && path !== drives))
