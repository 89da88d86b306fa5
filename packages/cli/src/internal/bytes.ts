/** Decides how an amount of bytes is written for people. */

/** Writes bytes as `12 KB` or `3.4 MB`. */
export const formatBytes = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`
