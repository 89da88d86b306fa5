/** Decides what it means that a server cannot be reached or is another one than was meant, and how to mend that. */
import type { ModelErrorReason } from "@skein/core/Provider"
import { NoConnection, type WrongAnswer } from "./errors.ts"

/** What kind of failure it was, in words, and how often the same request is worth sending. */
export interface Verdict {
  readonly reason: typeof ModelErrorReason.Type
  readonly retryable: boolean
  /** What happened. */
  readonly says: string
  /** How to mend it, where that is not plain. */
  readonly mend?: string
  /** How often it is worth asking at most, where that is less than usual. */
  readonly tries?: number
}

/** Where the address of a server is set. */
export interface Address {
  /** `provider/model`. */
  readonly model: string
  readonly baseUrl?: string | undefined
  /** The variable that may hold the base URL. */
  readonly baseUrlName?: string | undefined
}

/** A mistake in an address shows at once; one more try is for a server that is just starting, or erred once. */
const triesForAddress = 2

/** Names the setting that holds the address. */
export const settingOf = ({ baseUrlName, model }: Address): string => {
  const setting = `provider.${model.split("/", 1)[0]}.base_url`
  return baseUrlName === undefined ? setting : `${setting} or ${baseUrlName}`
}

/** What is often missing in an address. */
export const versionHint = ({ baseUrl }: Address): string =>
  baseUrl === undefined || /\/v\d/.test(baseUrl) ? "" : ` ${baseUrl} does not end in /v1, as most do.`

/** The place of a URL without what may be secret in it. */
const plain = ({ host, pathname, protocol }: URL): string => `${protocol}//${host}${pathname}`

const local = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Whether an address is of this machine. */
export const isLocal = (url: string): boolean => URL.canParse(url) && local.test(new URL(url).hostname)

const certificates = /^(CERT|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT)/

/** A socket that failed, before the connection stood or after. */
export const unreachable = (code: string, cause: unknown, address: Address): Verdict => {
  const setting = settingOf(address)
  if (!(cause instanceof NoConnection)) {
    return { reason: "network", retryable: true, says: `lost the connection (${code})` }
  }
  const { url } = cause
  const failed = (what: string, mend: string, more: Partial<Verdict> = {}): Verdict => ({
    reason: "network",
    retryable: true,
    says: `could not be reached: ${what} (${code})`,
    mend,
    ...more
  })
  const fewer = { tries: triesForAddress }
  if (code === "ECONNREFUSED") {
    return failed(
      `${url.host} refused the connection`,
      `Start the server, or set ${setting} to where it listens.`,
      isLocal(url.href) ? fewer : {}
    )
  }
  if (code === "ENOTFOUND") {
    return failed(`there is no host ${url.hostname}`, `Check the network and the host in ${setting}.`, fewer)
  }
  if (code === "EAI_AGAIN") {
    return failed(`the host ${url.hostname} could not be looked up`, `Check the network and the host in ${setting}.`)
  }
  if (certificates.test(code)) {
    const mend = `For a private authority set NODE_EXTRA_CA_CERTS, or check the host in ${setting}.`
    return failed(`the certificate of ${url.host} is not trusted`, mend, { retryable: false })
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) {
    return failed(`${url.host} does not speak TLS`, `Use http:// in ${setting}.`, { retryable: false })
  }
  return failed(`the connection to ${url.host} failed`, `If that goes on, check ${setting}.`)
}

/** A success that is not a stream of events. A page comes from another server; JSON may be one bad answer of the right one. */
export const wrongAnswer = ({ kind, status, url }: WrongAnswer, address: Address): Verdict => ({
  reason: "bad_response",
  retryable: /json/i.test(kind),
  says: `got something else than a stream of events: ${plain(url)} answered ${status} with ${kind}`,
  mend: `Set ${settingOf(address)} to the address of the API itself.${versionHint(address)}`
})
