/** Makes copies of config files without the credentials in them, which sandboxed commands find in the place of the files. */
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import { join } from "node:path"
import { attempt } from "../processes.ts"

/** A URL with a user or a password, a header, a helper with a secret, a token of a registry. */
const secrets: ReadonlyArray<readonly [found: RegExp, by: string]> = [
  [/([a-z][a-z\d+.-]*:\/\/)[^\s/@"']+@/gi, "$1"],
  [/^(\s*extraheader\s*=).*$/gim, "$1"],
  [/^(\s*(?:password|pass|token|secret|sslkey)\s*=).*$/gim, "$1"],
  [/^(\s*helper\s*=).*$/gim, "$1"],
  [/^(.*(?:_authToken|_auth|_password|npmAuthToken|npmAuthIdent)\s*[:=]\s*)(?!["']?\$).*$/gm, "$1"]
]

/** What is said without credentials; `undefined` where there are none. */
const withoutCredentials = (text: string): string | undefined => {
  const clean = secrets.reduce((said, [found, by]) => said.replace(found, by), text)
  return clean === text ? undefined : clean
}

/** Files in the tree that may hold some, besides the config of its repositories. */
export const credentialFiles = [".npmrc", ".yarnrc.yml", ".yarnrc", ".pypirc", ".netrc"]

/** The copies of those of these files that hold credentials, in a directory that commands do not see. */
export const cleanCopies = (
  beside: string,
  files: ReadonlyArray<string>
): ReadonlyArray<readonly [path: string, by: string]> =>
  files.flatMap((path) => {
    const isFile = NodeFs.lstatSync(path, { throwIfNoEntry: false })?.isFile() === true
    const text = isFile ? attempt(() => NodeFs.readFileSync(path, "utf8"), undefined) : undefined
    const clean = text === undefined ? undefined : withoutCredentials(text)
    if (clean === undefined) return []
    const copy = join(beside, `clean-${createHash("sha256").update(clean).digest("hex").slice(0, 16)}`)
    NodeFs.writeFileSync(copy, clean)
    return [[path, copy] as const]
  })

/** Who commits: the only thing of the user's config of git that a command needs. */
export const identityOf = (configs: ReadonlyArray<string>): string => {
  const said = new Map<string, string>()
  for (const path of configs) {
    const text = attempt(() => NodeFs.readFileSync(path, "utf8"), "")
    const section = /^\[user\][^\n]*\n((?:(?!\s*\[).*\n?)*)/m.exec(text)?.[1] ?? ""
    for (const [, key = "", value = ""] of section.matchAll(/^\s*(name|email)\s*=\s*(.*?)\s*$/gm)) said.set(key, value)
  }
  return said.size === 0 ? "" : `[user]\n${[...said].map(([key, value]) => `\t${key} = ${value}\n`).join("")}`
}
