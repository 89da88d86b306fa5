/** The tool `webfetch`: reads a web page. */
import { define, type Tool, type ToolError, type ToolResult } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { asRules } from "./internal/asks.ts"
import { refusal, refuse } from "./internal/refusal.ts"
import { Network } from "./Network.ts"

/** How long a page may take, redirects included. */
const patience = "30 seconds"

/** The maximum size of a page, in bytes. */
const longest = 5 * 1024 * 1024

/** How many redirects are followed. */
const maximumRedirects = 5

const description =
  `Reads a web page (http or https, at most 5 MB) as markdown, plain text or HTML. No cookies, no logins. Follows no redirect to another host: you are told where it leads. Cannot read local and private addresses.`

const Parameters = Schema.Struct({
  url: Schema.NonEmptyString.annotations({ description: "An http or https URL" }),
  format: Schema.optional(
    Schema.Literal("markdown", "text", "html").annotations({ description: "Format (markdown)" })
  )
})

/** The parameters of `webfetch`. */
export interface WebFetchInput extends Schema.Schema.Type<typeof Parameters> {}

const accepts = {
  markdown: "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1",
  text: "text/plain, text/html;q=0.9, */*;q=0.1",
  html: "text/html, application/xhtml+xml, */*;q=0.1"
}

const parse = (text: string): Effect.Effect<URL, ToolError> => {
  if (!URL.canParse(text)) {
    return refuse("invalid_arguments", `${text} is not a URL. Give a whole one, such as https://example.com/page.`)
  }
  const url = new URL(text)
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return refuse("invalid_arguments", `Only http and https can be read, and not ${url.protocol} Use read for files.`)
  }
  if (url.username !== "" || url.password !== "") {
    return refuse("invalid_arguments", "A URL with a name or password in it is not read. Leave them out.")
  }
  url.hash = ""
  return Effect.succeed(url)
}

const nameOf = (url: URL): string => url.hostname.replace(/\.$/, "").replace(/^www\./, "")

/** Whether permission for one URL covers the other: it has the same host, and is not less secure. */
const isSameSite = (from: URL, to: URL): boolean =>
  nameOf(from) === nameOf(to) &&
  ((from.protocol === to.protocol && from.port === to.port) ||
    (from.protocol === "http:" && to.protocol === "https:" && to.port === ""))

/** Makes `webfetch`. */
export const makeWebFetch: Effect.Effect<Tool<WebFetchInput>, never, Network> = Effect.gen(function*() {
  const network = yield* Network

  /** The addresses of a URL's host. A single private one is enough to refuse the URL. */
  const addressesOf = Effect.fnUntraced(function*(url: URL) {
    const host = url.hostname.replace(/^\[|\]$/g, "")
    const addresses = yield* network.resolve(host)
    const closed = addresses.find(({ address }) => !network.isPublic(address))
    if (addresses.length === 0 || closed !== undefined) {
      return yield* refuse(
        "blocked",
        `${url.host} leads to ${
          closed?.address ?? "no address"
        }, which is not open to everybody. Only public addresses are read; use bash for a local server.`
      )
    }
    return addresses
  })

  const fetch = Effect.fnUntraced(function*(input: WebFetchInput) {
    const format = input.format ?? "markdown"
    // Loaded at first use, so that the program starts without them.
    const { httpRequest } = yield* Effect.promise(() => import("./internal/web/httpRequest.ts"))
    const { pageOf } = yield* Effect.promise(() => import("./internal/web/webPage.ts"))
    let url = yield* parse(input.url)
    for (let hop = 0; hop <= maximumRedirects; hop++) {
      const { href, origin } = url
      // No cookies and no credentials.
      const request = httpRequest(url, yield* addressesOf(url), {
        headers: {
          accept: accepts[format],
          "accept-encoding": "gzip, deflate, br",
          "user-agent": "Mozilla/5.0 (compatible; Skein)"
        },
        longest
      })
      const answer = yield* Effect.mapError(request, ({ isTooLong, message }) =>
        isTooLong
          ? refusal(
            "too_large",
            `${href} has more than ${longest / 1024 / 1024} MB, which is the most that is read. Ask for a smaller page.`
          )
          : refusal("network", `${origin} could not be read: ${message}. Check the URL, or try again later.`))
      const { location } = answer.headers
      if (location === undefined) return yield* pageOf(url, answer, format)
      if (!URL.canParse(location, href)) {
        return yield* refuse("network", `${href} redirects to ${location}, which is not a URL.`)
      }
      const next = yield* parse(new URL(location, href).href)
      if (!isSameSite(url, next)) {
        return {
          title: input.url,
          output: `${url.href} redirects to another host. To read on, call webfetch with ${next.href}`,
          metadata: { url: url.href, redirect: next.href, status: answer.status }
        } satisfies ToolResult
      }
      url = next
    }
    return yield* refuse(
      "network",
      `${input.url} redirects more than ${maximumRedirects} times. Give the URL that it is about.`
    )
  })

  return define<WebFetchInput>({
    name: "webfetch",
    describe: description,
    parameters: Parameters,
    effect: "safe",
    title: (input) => input.url,
    authorise: (input) =>
      Effect.map(parse(input.url), (url) => {
        const ask = { permission: "webfetch", patterns: [url.href] }
        return network.tellsSecret(url)
          ? [{
            ...ask,
            always: [],
            metadata: {
              url: url.href,
              reason: "The URL contains a secret of the environment, which its host would see."
            },
            protected: true
          }]
          : [{ ...ask, always: asRules([`${url.origin}/*`]), metadata: { url: url.href } }]
      }),
    execute: (input) =>
      Effect.timeoutFail(fetch(input), {
        duration: patience,
        onTimeout: () =>
          refusal("timeout", `${input.url} took longer than ${patience}. Try again later, or another page.`)
      })
  })
})
