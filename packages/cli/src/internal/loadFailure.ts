/** Says why a part of the program could not be loaded, and what to do. */

/** The text for a failed import; the cause is what the import failed with. */
export const loadFailure = (cause: unknown): string => {
  const reason = (cause instanceof Error ? cause.message : String(cause)).replace(/\.$/, "")
  const remedy = /\bE[MN]FILE\b|too many open files/i.test(reason)
    ? "The program is whole: let it open more files (ulimit -n), or end what holds so many open."
    : "Install it again."
  return `A part of the program cannot be loaded (${reason}). ${remedy}`
}
