/** Copies config files without their credentials. Sandboxed commands see the copies instead of the files. */
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import { join } from "node:path"
import { lstatOf } from "../files/lstatOf.ts"
import { attempt } from "../processes.ts"

/** A URL with a user or a password, a header, a helper with a secret, or a token of a registry. */
const secrets: ReadonlyArray<readonly [found: RegExp, by: string]> = [
  [/([a-z][a-z\d+.-]*:\/\/)[^\s/@"']+@/gi, "$1"],
  [/^(\s*extraheader\s*=).*$/gim, "$1"],
  [/^(\s*(?:password|pass|token|secret|sslkey)\s*=).*$/gim, "$1"],
  [/^(\s*helper\s*=).*$/gim, "$1"],
  [/^(.*(?:_authToken|_auth|_password|npmAuthToken|npmAuthIdent)\s*[:=]\s*)(?!["']?\$).*$/gm, "$1"]
]

/** The text without credentials; `undefined` if there are none. */
const withoutCredentials = (text: string): string | undefined => {
  const clean = secrets.reduce((said, [found, by]) => said.replace(found, by), text)
  return clean === text ? undefined : clean
}

/** Files in the tree that may contain credentials, besides the config of its repositories. */
export const configFiles = [".npmrc", ".yarnrc.yml", ".yarnrc", ".pypirc", ".netrc"]

/** Copies of those of these files that contain credentials, in a directory that commands do not see. */
export const cleanCopies = (
  beside: string,
  files: ReadonlyArray<string>
): ReadonlyArray<readonly [path: string, by: string]> =>
  files.flatMap((path) => {
    const isFile = lstatOf(path)?.isFile() === true
    const text = isFile ? attempt(() => NodeFs.readFileSync(path, "utf8"), undefined) : undefined
    const clean = text === undefined ? undefined : withoutCredentials(text)
    if (clean === undefined) return []
    const copy = join(beside, `clean-${createHash("sha256").update(clean).digest("hex").slice(0, 16)}`)
    NodeFs.writeFileSync(copy, clean)
    return [[path, copy] as const]
  })

/** The committer: the only part of the user's git config that a command needs. */
export const identityOf = (configs: ReadonlyArray<string>): string => {
  const said = new Map<string, string>()
  for (const path of configs) {
    const text = attempt(() => NodeFs.readFileSync(path, "utf8"), "")
    const section = /^\[user\][^\n]*\n((?:(?!\s*\[).*\n?)*)/m.exec(text)?.[1] ?? ""
    for (const [, key = "", value = ""] of section.matchAll(/^\s*(name|email)\s*=\s*(.*?)\s*$/gm)) said.set(key, value)
  }
  return said.size === 0 ? "" : `[user]\n${[...said].map(([key, value]) => `\t${key} = ${value}\n`).join("")}`
}
