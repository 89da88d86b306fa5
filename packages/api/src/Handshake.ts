/** Decides how a server proves that it has the token of a client, before it gets it. */
import * as Schema from "effect/Schema"

/**
 * What a client sends. `host` is the host and port that it dials, such as `127.0.0.1:4096`: a server answers only for
 * its own, so nobody at another address can pass the question on to it. `localhost` is no address.
 */
export const HandshakeQuestion = Schema.Struct({
  nonce: Schema.String.pipe(Schema.pattern(/^[0-9a-f]{32,128}$/, { message: () => "32 to 128 hexadecimal digits" })),
  host: Schema.String.pipe(
    Schema.pattern(/^[^\s/]{1,300}$/, { message: () => "a host and a port, such as 127.0.0.1:4096" })
  )
}).annotations({ identifier: "Handshake", parseOptions: { onExcessProperty: "error" } })
/** The type of the question. */
export type HandshakeQuestion = typeof HandshakeQuestion.Type

/** What `localhost` means, here and to servers: as a name, it also leads to `::1`, where another user may listen. */
export const localAddress = "127.0.0.1"

/**
 * The URL to dial instead of one: `localhost` has two addresses, so a proof for it would not say which of them was dialled.
 * With TLS the certificate says who answers.
 */
export const directUrl = (url: string): string =>
  url.replace(/^http:\/\/localhost\.?(?=[:/]|$)/i, `http://${localAddress}`)

/** The host of a URL as a question names it: with its port, because `http` and `https` have different ones. */
export const dialledHost = (url: string): string => {
  const { host, port, protocol } = new URL(url)
  return port === "" ? `${host}:${protocol === "https:" ? 443 : 80}` : host
}

/** What a server answers: its version, and the proof in hexadecimal digits. */
export const HandshakeAnswer = Schema.Struct({ answer: Schema.String, version: Schema.String })

/** What the proof is the HMAC-SHA256 of, with the token as its key. */
export const handshakeText = ({ host, nonce }: HandshakeQuestion, version: string): string =>
  ["skein handshake", nonce, host, version].join("\n")
