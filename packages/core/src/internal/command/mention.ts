/** Decides what counts as `@name` in a text: a name of an agent or a path, at the beginning of a word. */

/** A mention; its groups are the name within quotes, and the name without them. */
export const mention = /(?<![\p{L}\p{N}_`@/.+%-])@(?:"([^"\n]+)"|([^\s`,;:!?"'()[\]{}<>|@]+))/u

const everywhere = new RegExp(mention.source, "gu")

/** What a mention names; a full stop behind it ends a sentence. */
export const pathOf = (quoted: string | undefined, bare: string | undefined): string =>
  quoted ?? (bare ?? "").replace(/\.+$/, "")

/** What a text mentions, each once, in order. */
export const mentionsIn = (text: string): ReadonlyArray<string> => [
  ...new Set(
    [...text.matchAll(everywhere)].map(([, quoted, bare]) => pathOf(quoted, bare)).filter((path) => path !== "")
  )
]
