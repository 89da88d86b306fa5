/** Owns the version of this program, which the build inserts. */

declare const __SKEIN_VERSION__: string | undefined

/** The version, or `0.0.0-source` if the sources run without a build. */
export const version = typeof __SKEIN_VERSION__ === "undefined" ? "0.0.0-source" : __SKEIN_VERSION__
