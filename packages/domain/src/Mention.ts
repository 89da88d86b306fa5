/** Decides what counts as `@name` in a text: an agent's name, a path or a resource, at the beginning of a word. */

/** A mention; its groups are the quoted name, and the bare name. A resource is `server:uri`, and its URI has a scheme. */
export const mention =
  /(?<![\p{L}\p{N}_`@/.+%-])@(?:"([^"\n]+)"|([\w.-]+:[a-z][\w+.-]*:[^\s`,;!?"'()[\]{}<>|]*[^\s`,;:!?"'()[\]{}<>|]|[^\s`,;:!?"'()[\]{}<>|@]+))/u

const everywhere = new RegExp(mention.source, "gu")

/** What a mention names, without the full stop of a sentence. */
export const pathOf = (quoted: string | undefined, bare: string | undefined): string =>
  quoted ?? (bare ?? "").replace(/\.+$/, "")

/** The server and the URI of a resource; undefined for any other name. */
export const resourceOf = (name: string): { readonly server: string; readonly uri: string } | undefined => {
  const [, server, uri] = /^([\w.-]+):([a-z][\w+.-]*:.+)$/.exec(name) ?? []
  return server === undefined || uri === undefined ? undefined : { server, uri }
}

/** The names that a text mentions, each once, in order. */
export const mentionsIn = (text: string): ReadonlyArray<string> => [
  ...new Set(
    [...text.matchAll(everywhere)].map(([, quoted, bare]) => pathOf(quoted, bare)).filter((path) => path !== "")
  )
]

/** How a text mentions a name: bare, or else in quotes. Undefined if no text can, because of its quotes or line breaks. */
export const mentionOf = (name: string): string | undefined =>
  [`@${name}`, `@"${name}"`].find((text) => {
    const [found, ...more] = mentionsIn(`${text} `)
    return found === name && more.length === 0
  })
