// @ts-check
// Collects the licences of bundled libraries, because most require a copy.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./layout.mjs"

/**
 * The text that names the libraries which these files belong to, each with its licence.
 * @param {ReadonlyArray<string>} files relative to the top directory
 */
export const thirdParties = (files) => {
  const directories = new Set(
    files.flatMap((file) =>
      /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file.replaceAll("\\", "/"))?.[0] ?? []
    )
  )
  const texts = [...directories].map((directory) => {
    const path = join(root, directory)
    const { license, name, version } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"))
    const file = readdirSync(path).find((each) => /^licen[cs]e(\.|$)/i.test(each))
    const text = file === undefined ? "" : `\n\n${readFileSync(join(path, file), "utf8").trim()}`
    return `${name} ${version} (${license})${text}`
  })
  return `Built in:\n\n${texts.toSorted().join(`\n\n${"-".repeat(80)}\n\n`)}\n`
}
