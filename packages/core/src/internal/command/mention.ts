/** Decides what counts as `@name` in a text: an agent's name or a path, at the beginning of a word. */

/** A mention; its groups are the quoted name, and the bare name. */
export const mention = /(?<![\p{L}\p{N}_`@/.+%-])@(?:"([^"\n]+)"|([^\s`,;:!?"'()[\]{}<>|@]+))/u

const everywhere = new RegExp(mention.source, "gu")

/** What a mention names, without the full stop of a sentence. */
export const pathOf = (quoted: string | undefined, bare: string | undefined): string =>
  quoted ?? (bare ?? "").replace(/\.+$/, "")

/** The names that a text mentions, each once, in order. */
export const mentionsIn = (text: string): ReadonlyArray<string> => [
  ...new Set(
    [...text.matchAll(everywhere)].map(([, quoted, bare]) => pathOf(quoted, bare)).filter((path) => path !== "")
  )
]
