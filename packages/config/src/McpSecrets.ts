/** Decides which texts in the config of an MCP server may be secrets. */
import type { McpServerConfig } from "@skein/domain/McpConfig"

const secret = /key|token|secret|passw|credential|auth/i

/** A short text, a word, a number, a path or a URL: whatever else a variable holds may be a secret. */
const ordinary = /^(?:.{0,7}|[a-z]+|[\d.]+|[.~]?\/.*|https?:\/\/[^@]*)$/i

/** Text that only names where a value comes from. A default is written out, so it does not count. */
const name = /\$\{[A-Za-z_]\w*\}|\{(?:env|file):[^{}]*\}/g

const scheme = /^((?:Bearer|Basic|Token)\s+)(.+)$/is

/** An argument with its value in one word: `--api-key=VALUE`, or `Authorization: VALUE`. */
const assigned = /^([\w-]*(?:key|token|secret|passw|credential|auth)[\w-]*(?:=|:\s*))(.+)$/is

/** An argument whose value is the next word. */
const option = /^--?[\w-]*(?:key|token|secret|passw|credential|auth)[\w-]*$/i

const inQuery = /([?&][^=&#]*(?:key|token|secret|passw|credential|auth|sig)[^=&#]*=)([^&#]+)/gi

/** The config with each text that may be a secret replaced. */
export const replaceSecrets = (server: McpServerConfig, replacement: (text: string) => string): McpServerConfig => {
  const replaced = (text: string): string => text.replaceAll(name, "") === "" ? text : replacement(text)
  const behind = (pattern: RegExp, text: string): string | undefined => {
    const [, before, after] = pattern.exec(text) ?? []
    return before === undefined || after === undefined ? undefined : `${before}${replaced(after)}`
  }
  const withScheme = (text: string): string => behind(scheme, text) ?? replaced(text)
  const ofWord = (word: string, at: number, words: ReadonlyArray<string>): string => {
    if (option.test(words[at - 1] ?? "")) return withScheme(word)
    const [, before, after] = assigned.exec(word) ?? []
    return before === undefined || after === undefined ? word : `${before}${withScheme(after)}`
  }
  const ofUrl = (url: string): string =>
    url.replace(/(\/\/)([^/@]+)(?=@)/, (_, before: string, user: string) => `${before}${replaced(user)}`)
      .replaceAll(inQuery, (_, before: string, value: string) => `${before}${replaced(value)}`)
  const ofTexts = (texts: Readonly<Record<string, string>>, isPlain: (name: string, text: string) => boolean) =>
    Object.fromEntries(
      Object.entries(texts).map(([key, text]) => [key, isPlain(key, text) ? text : withScheme(text)])
    )
  const { client_secret, command, env, headers, url } = server
  const [program, ...words] = command?.map(ofWord) ?? []
  return {
    ...server,
    ...(program === undefined ? {} : { command: [program, ...words] as const }),
    ...(client_secret === undefined ? {} : { client_secret: replaced(client_secret) }),
    ...(url === undefined ? {} : { url: ofUrl(url) }),
    ...(headers === undefined ? {} : { headers: ofTexts(headers, () => false) }),
    ...(env === undefined ? {} : { env: ofTexts(env, (key, text) => !secret.test(key) && ordinary.test(text)) })
  }
}

/** The texts of the config that may be secrets. */
export const secretsIn = (server: McpServerConfig): ReadonlyArray<string> => {
  const found: Array<string> = []
  replaceSecrets(server, (text) => {
    found.push(text)
    return text
  })
  return found
}
