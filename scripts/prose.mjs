// @ts-check
// `node scripts/prose.mjs`: checks the language of the docs, and of comments and texts in the code (scripts/calques.mjs).
// In docs no sentence is longer than 35 words and no paragraph longer than 90. Code, tables' rules and links do not count.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, relative, sep } from "node:path"
import { parseSync } from "oxc-parser"
import { calques } from "./calques.mjs"
import { root } from "./layout.mjs"

/** @typedef {{ readonly file: string, readonly line: number, readonly says: string }} Finding */
/** @typedef {{ readonly line: number, readonly text: string }} Block */

const sentenceLimit = 35
const paragraphLimit = 90

/** Directories whose code is checked for calques. */
const directories = [
  ...`acp api backend cli client cluster config core domain mcp offline provider server storage testing tools tui view web`
    .split(" ")
    .map((name) => `packages/${name}/src`),
  ...["config", "core", "domain", "offline", "provider", "storage", "testing"].map((name) => `packages/${name}/test`),
  "scripts",
  "test"
]

/** The table itself, its test, and text of others. */
const exempt =
  /^(?:scripts\/calques\.mjs|test\/prose\.test\.ts|packages\/config\/test\/(?:fixtures|shapes)\/.*|scripts\/node\/.*)$/

/** What stands for one word, and what stands for none. @param {string} text */
const plain = (text) =>
  text
    .replaceAll(/<!--.*?-->/g, "")
    .replaceAll(/``.+?``|`[^`]+`/g, "Code")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/https?:\/\/\S+/g, "link")
    .replaceAll(/\*\*|__/g, "")

/** @param {string} text */
const words = (text) => plain(text).split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length

/** @param {string} text */
const sentences = (text) =>
  plain(text).replaceAll(/\b(e\.g|i\.e|etc|vs)\./g, "$1").split(/(?<=[.!?][)"']*)\s+(?=["'(]*[\p{Lu}\p{N}])/u)

/**
 * The pieces of a page that are read in one go: paragraphs, items of lists, cells of tables. Fenced code is left out.
 * @param {string} page
 * @returns {ReadonlyArray<Block>}
 */
export const blocks = (page) => {
  /** @type {Array<Block>} */
  const found = []
  /** @type {{ line: number, lines: Array<string> } | undefined} */
  let open
  let fence = ""
  const close = () => {
    if (open !== undefined) found.push({ line: open.line, text: open.lines.join(" ") })
    open = undefined
  }
  for (const [index, raw] of page.split("\n").entries()) {
    const line = raw.trim()
    const mark = /^(```+|~~~+)/.exec(line)?.[1]
    if (fence !== "") {
      if (line === fence) fence = ""
      continue
    }
    if (mark !== undefined) {
      close()
      fence = mark
    } else if (line === "" || /^(#|<!--|---|\[[^\]]+\]:)/.test(line)) {
      close()
      if (line.startsWith("#")) found.push({ line: index + 1, text: line.replace(/^#+\s*/, "") })
    } else if (line.startsWith("|")) {
      close()
      const cells = line.replaceAll(/`[^`]*`/g, (code) => code.replaceAll("|", " ")).split(/(?<!\\)\|/)
      for (const text of cells.filter((cell) => /\p{L}/u.test(cell))) found.push({ line: index + 1, text: text.trim() })
    } else if (/^([-*+]|\d+\.|>)\s/.test(line)) {
      close()
      open = { line: index + 1, lines: [line.replace(/^([-*+]|\d+\.|>)\s+/, "")] }
    } else if (open === undefined) open = { line: index + 1, lines: [line] }
    else open.lines.push(line)
  }
  close()
  return found
}

/** @param {string} text @returns {ReadonlyArray<string>} */
const calquesIn = (text) =>
  calques.flatMap(({ found, instead }) => {
    const hit = found.exec(text)
    return hit === null ? [] : [`"${hit[0]}" reads as if translated; ${instead}`]
  })

/**
 * What is wrong with a page of Markdown.
 * @param {string} file @param {string} page
 * @returns {ReadonlyArray<Finding>}
 */
export const checkPage = (file, page) =>
  blocks(page).flatMap(({ line, text }) => {
    const long = sentences(text).filter((sentence) => words(sentence) > sentenceLimit)
    const length = words(text)
    return [
      ...long.map((sentence) => `a sentence of ${words(sentence)} words: "${sentence.slice(0, 60)}…"`),
      ...(length > paragraphLimit ? [`a paragraph of ${length} words; split it, or make it a list`] : []),
      ...calquesIn(text.replaceAll(/`[^`]*`/g, "Code"))
    ].map((says) => ({ file, line, says }))
  })

/**
 * Calques in the comments and texts of a source file.
 * @param {string} file @param {string} code
 * @returns {ReadonlyArray<Finding>}
 */
export const checkSource = (file, code) => {
  const { comments, program } = parseSync(file, code)
  /** @type {Array<{ readonly start: number, readonly text: string }>} */
  const texts = comments.map(({ start, value }) => ({ start, text: value.replaceAll(/\n\s*\*/g, " ") }))
  JSON.stringify(program, (_, node) => {
    if (node?.type === "Literal" && typeof node.value === "string") texts.push({ start: node.start, text: node.value })
    if (node?.type === "JSXText") texts.push({ start: node.start, text: node.value })
    if (node?.type === "TemplateElement") texts.push({ start: node.start, text: node.value.cooked ?? "" })
    return typeof node === "bigint" ? undefined : node
  })
  const lineOf = (/** @type {number} */ start) => code.slice(0, start).split("\n").length
  return texts.flatMap(({ start, text }) =>
    calquesIn(text.replaceAll(/\s+/g, " ")).map((says) => ({ file, line: lineOf(start), says }))
  ).toSorted((a, b) => a.line - b.line)
}

/** @param {string} directory @param {RegExp} name @returns {ReadonlyArray<string>} */
const filesBelow = (directory, name) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && name.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/[/\\](node_modules|dist)[/\\]/.test(file))

/** Every finding of a clone. @param {string} top */
export const check = (top) => {
  const shown = (/** @type {string} */ file) => relative(top, file).replaceAll(sep, "/")
  const pages = [
    ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map((name) => join(top, name)),
    ...filesBelow(join(top, "docs"), /\.md$/),
    ...readdirSync(join(top, "packages"), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) =>
        readdirSync(join(top, "packages", name)).filter((file) => file.endsWith(".md"))
          .map((file) => join(top, "packages", name, file))
      )
  ]
  const read = (/** @type {string} */ file) => readFileSync(file, "utf8")
  return [
    ...pages.flatMap((file) => checkPage(shown(file), read(file))),
    ...directories.filter((directory) => existsSync(join(top, directory)))
      .flatMap((directory) => filesBelow(join(top, directory), /\.(?:tsx?|mjs)$/))
      .filter((file) => !exempt.test(shown(file)))
      .flatMap((file) => checkSource(shown(file), read(file)))
  ]
}

if (process.argv[1] === import.meta.filename) {
  const findings = check(root)
  for (const { file, line, says } of findings) console.log(`${file}:${line} ${says}`)
  if (findings.length > 0) {
    console.log(`\n${findings.length} places to rewrite. Say it plainly: you + verb, one idea per sentence.`)
    process.exitCode = 1
  }
}
